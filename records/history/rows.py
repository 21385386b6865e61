"""Rows as they are read to be shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Row = Mapping[str, Any]
"""One row of a table, or of a join, by its columns; what a column holds as JSON is read."""
