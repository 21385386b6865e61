"""The former home of `Compensation`, for modules written before December 2026; it goes with release 0.2."""

from __future__ import annotations

from planwright.domain.plan import Compensation

__all__ = ["Compensation"]
