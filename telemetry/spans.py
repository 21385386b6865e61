"""The spans of an invocation of a run, as the rooms open them; without a program that collects them, none."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Protocol

from planwright.domain.events import Event
from planwright.domain.lease import Lease
from planwright.domain.verified_step import VerifiedStep


class Spans(Protocol):
    """Open the spans of one invocation, each within the one that is open around it."""

    on: bool
    """Whether spans are opened, so that events are to be heard."""

    def run(self) -> AbstractContextManager[None]:
        """Span what one process does for a run, until that ends or waits."""

    def step(self, checked: VerifiedStep) -> AbstractContextManager[None]:
        """Span a step of a plan, from when it begins."""

    def lane(self, checked: VerifiedStep) -> AbstractContextManager[None]:
        """Span a lane: of a step, or of an agent that a model has given a part to."""

    def call(self, checked: VerifiedStep) -> AbstractContextManager[None]:
        """Span one call of a capability, with its attempts."""

    def chat(self, role: str, provider: str, model: str, max_tokens: int) -> AbstractContextManager[None]:
        """Span one call of a model."""

    def gate(self, gate_id: str, kind: str, decision: str, opened: datetime, closed: datetime) -> None:
        """Span the time that a gate was open, once it is decided."""

    def hear(self, event: Event) -> None:
        """Put what an event tells on the span that is open around it."""


class NoSpans:
    """Open none."""

    on = False
    """Whether spans are opened, so that events are to be heard."""

    def run(self) -> AbstractContextManager[None]:
        """Span nothing."""
        return nullcontext()

    def step(self, checked: VerifiedStep) -> AbstractContextManager[None]:
        """Span nothing."""
        return nullcontext()

    lane = call = step

    def chat(self, role: str, provider: str, model: str, max_tokens: int) -> AbstractContextManager[None]:
        """Span nothing."""
        return nullcontext()

    def gate(self, gate_id: str, kind: str, decision: str, opened: datetime, closed: datetime) -> None:
        """Span nothing."""

    def hear(self, event: Event) -> None:
        """Put it nowhere."""


def open_spans(lease: Lease, agent: str | None) -> Spans:
    """Choose how an invocation is traced: by OpenTelemetry where the program has set a tracer provider."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return NoSpans()
    from planwright.telemetry.otel_spans import OtelSpans

    return OtelSpans(lease, agent or "planwright")
