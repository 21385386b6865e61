"""Spans of OpenTelemetry. Loaded only where the program has set a tracer provider."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from langgraph.errors import GraphBubbleUp
from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, NonRecordingSpan, Span, SpanContext, SpanKind, StatusCode, TraceFlags

from planwright.domain.events import Event
from planwright.domain.hashing import trace_digest
from planwright.domain.lease import Lease
from planwright.domain.verified_step import VerifiedStep
from planwright.telemetry import attributes as names
from planwright.telemetry.attributes import Attributes
from planwright.telemetry.event_fields import operator_fields

_OWNER = context.create_key("planwright-spans")
UNHEARD = ("user_message", "agent_message", "plan_step_start", "tool_call_start", "llm_call", "progress")


class OtelSpans:
    """Open the spans of one invocation; each is a child of the one around it, the outermost of the run's own.

    All invocations of a run share a trace: its id is made of the run's. Where the caller has a span open,
    that is the parent instead, and the trace of the run is linked.
    """

    on = True
    """Whether spans are opened, so that events are to be heard."""

    def __init__(self, lease: Lease, agent: str) -> None:
        self._tracer = trace.get_tracer("planwright")
        self._agent = agent
        self._ids = {names.RUN_ID: lease.run_id, names.CONVERSATION_ID: lease.thread_id}
        self._tenant = lease.tenant
        self._root = context.get_current()
        self._steps: dict[str, Span] = {}
        self._status = "waiting"

    @contextmanager
    def run(self) -> Iterator[None]:
        """Span what one process does for a run. It is current within the run, not in the caller's code."""
        outer, origin = context.get_current(), _origin(self._ids[names.RUN_ID])
        links = [Link(origin)] if trace.get_current_span(outer).get_span_context().is_valid else []
        parent = outer if links else trace.set_span_in_context(NonRecordingSpan(origin), outer)
        agent = {names.OPERATION: names.INVOKE_AGENT, names.AGENT_NAME: self._agent}
        fields = {names.KIND: "run", **agent, **self._ids, names.TENANT: self._tenant}
        span = self._tracer.start_span(
            f"{names.INVOKE_AGENT} {self._agent}", parent, attributes=fields, links=links
        )
        self._root = self._inside(span, parent)
        with _closing(span):
            yield
            span.set_attribute(names.STATUS, self._status)

    @contextmanager
    def step(self, checked: VerifiedStep) -> Iterator[None]:
        """Span a step of a plan, from when it begins."""
        with self._span(f"step {checked.step.id}", "step", _step_fields(checked)) as span:
            self._steps[checked.uid] = span
            try:
                yield
            finally:
                self._steps.pop(checked.uid, None)

    @contextmanager
    def lane(self, checked: VerifiedStep) -> Iterator[None]:
        """Span a lane: of a step, or of an agent that a model has given a part to."""
        with self._span(f"lane {checked.step.id}", "lane", _step_fields(checked)):
            yield

    @contextmanager
    def call(self, checked: VerifiedStep) -> Iterator[None]:
        """Span one call of a capability, with its attempts."""
        name = checked.step.shown_name
        fields = {names.OPERATION: names.EXECUTE_TOOL, names.TOOL_NAME: name, names.TOOL_CALL_ID: checked.uid}
        with self._span(f"{names.EXECUTE_TOOL} {name}", "call", fields):
            yield

    @contextmanager
    def chat(self, role: str, provider: str, model: str, max_tokens: int) -> Iterator[None]:
        """Span one call of a model."""
        fields = {names.OPERATION: names.CHAT, names.PROVIDER_NAME: provider, names.REQUEST_MODEL: model}
        more: Attributes = {**fields, names.REQUEST_MAX_TOKENS: max_tokens, names.ROLE: role}
        with self._span(f"{names.CHAT} {model}", "chat", more, SpanKind.CLIENT):
            yield

    def gate(self, gate_id: str, kind: str, decision: str, opened: datetime, closed: datetime) -> None:
        """Span the time that a gate was open, once it is decided."""
        fields = {names.KIND: "gate", names.GATE_ID: gate_id, names.GATE_KIND: kind, names.DECISION: decision}
        begin, end = (int(at.timestamp() * 1e9) for at in (opened, closed))
        own = {**fields, **self._ids}
        self._tracer.start_span(f"gate {kind}", self._around(), attributes=own, start_time=begin).end(end)

    def hear(self, event: Event) -> None:
        """Put what an event tells on the span that is open around it."""
        type_, fields = event["type"], operator_fields(event)
        span = trace.get_current_span(self._around())
        if type_ == "run_end":
            self._status = str(fields.get("status"))
            if self._status == "failed":
                trace.get_current_span(self._root).set_status(StatusCode.ERROR)
        if type_ == "llm_call":
            tokens = {names.INPUT_TOKENS: "input_tokens", names.OUTPUT_TOKENS: "output_tokens"}
            span.set_attributes({name: fields[field] for name, field in tokens.items() if field in fields})
        if (step := self._steps.get(str(fields.get("uid")))) and "status" in fields:
            step.set_attribute(names.STATUS, fields["status"])
            if fields["status"] == "failed":
                step.set_attribute(names.ERROR_TYPE, fields.get("code", "failed"))
                step.set_status(StatusCode.ERROR)
        if type_ not in UNHEARD:
            span.add_event(type_, {f"{names.OURS}{name}": value for name, value in fields.items()})

    @contextmanager
    def _span(
        self, name: str, kind: str, fields: Attributes, span_kind: SpanKind = SpanKind.INTERNAL
    ) -> Iterator[Span]:
        parent = self._around()
        own = {names.KIND: kind, **fields, **self._ids}
        span = self._tracer.start_span(name, parent, span_kind, own)
        token = context.attach(self._inside(span, parent))
        try:
            with _closing(span):
                yield span
        finally:
            context.detach(token)

    def _around(self) -> Context:
        """Return what is current, if it was opened here; else the span of the run."""
        current = context.get_current()
        return current if context.get_value(_OWNER, current) is self else self._root

    def _inside(self, span: Span, parent: Context) -> Context:
        return context.set_value(_OWNER, self, trace.set_span_in_context(span, parent))


@contextmanager
def _closing(span: Span) -> Iterator[None]:
    """End a span; an error is named on it by its kind alone, for its words may quote what was sent."""
    try:
        yield
    except GraphBubbleUp:  # a gate is open: it goes on when that is decided
        span.set_attribute(names.STATUS, "waiting")
        raise
    except BaseException as error:
        span.set_attribute(names.ERROR_TYPE, getattr(error, "code", "") or type(error).__name__)
        span.set_status(StatusCode.ERROR)
        raise
    finally:
        span.end()


def _step_fields(checked: VerifiedStep) -> Attributes:
    step = checked.step
    return {names.STEP_ID: step.id, names.UID: checked.uid, names.CAPABILITY: step.shown_name}


def _origin(run_id: str) -> SpanContext:
    """Make the parent that all invocations of a run share, in the trace of its id; no span is sent for it.

    Whether that trace is sampled is what the program's sampler says of its id: else a parent that is would
    overrule it.
    """
    digest = trace_digest(run_id)
    trace_id, span_id = int.from_bytes(digest[:16]), int.from_bytes(digest[16:24])
    sampler = getattr(trace.get_tracer_provider(), "sampler", None)
    sampled = (
        sampler is None or sampler.should_sample(None, trace_id, names.INVOKE_AGENT).decision.is_sampled()
    )
    flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
    return SpanContext(trace_id, span_id, is_remote=True, trace_flags=flags)
