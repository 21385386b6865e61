"""Spans of a real run, by the SDK of OpenTelemetry: which is in which, and what failed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import Decision, ParentBased, Sampler, SamplingResult
from opentelemetry.trace import SpanContext, SpanKind, StatusCode

from planwright.capabilities import CallContext, capability
from planwright.domain.errors import CapabilityRejected, CapabilityUnavailable
from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

CANARY = "canary-7ab31e"


def fields(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def place(span: ReadableSpan) -> SpanContext:
    context = span.get_span_context()
    assert context is not None
    return context


@capability("trial.flaky", trusted_result=True, mode="read_only")
def flaky(name: str, call: CallContext) -> str:
    """Answer from the second attempt on."""
    marker = call.settings.workspace / f"flaky-{name}"
    if not marker.exists():
        marker.touch()
        raise CapabilityUnavailable(f"not yet, {CANARY}")
    return CANARY


@capability("trial.broken", trusted_result=True, mode="read_only")
def broken(name: str) -> str:
    """Never answer."""
    raise CapabilityRejected(f"no, {CANARY}")


class Spans:
    """The spans that have ended, as a program's exporter gets them."""

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        self._exporter = exporter

    @property
    def all(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    def kind(self, kind: str) -> list[ReadableSpan]:
        return [span for span in self.all if fields(span).get("planwright.kind") == kind]

    def newest(self, name: str) -> ReadableSpan:
        return next(span for span in reversed(self.all) if span.name == name)

    def around(self, span: ReadableSpan) -> list[str]:
        """Name the spans around one, from the innermost."""
        by_id = {place(each).span_id: each for each in self.all}
        names = []
        while span.parent and (parent := by_id.get(span.parent.span_id)):
            names.append(parent.name)
            span = parent
        return names


class Switch(Sampler):
    """Sample every trace, or none."""

    on = True

    def should_sample(self, *args: Any, **kwargs: Any) -> SamplingResult:
        return SamplingResult(Decision.RECORD_AND_SAMPLE if self.on else Decision.DROP)

    def get_description(self) -> str:
        return "Switch"


SWITCH = Switch()


@pytest.fixture
def spans() -> Iterator[Spans]:
    """Collect spans as a program does; the provider stays set, so a later test adds an exporter to it."""
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider(sampler=ParentBased(SWITCH))
        trace.set_tracer_provider(provider)
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield Spans(exporter)
    exporter.shutdown()


def play(scene: Scene) -> Agent:
    """Play a plan with gates, steps side by side, an agent that delegates, a retry, and a failing step."""
    plan = scene.plan(
        scene.step("s1", "work.read", params={"name": CANARY}),
        scene.step("s2", "trial.flaky"),
        {"id": "s3", "description": f"Find out {CANARY}", "tool_hints": ["work.read", "agent.delegate"]},
        scene.step("s4", "work.destroy", "s1", params={"name": "d", "text": CANARY}),
        scene.step("s5", "trial.broken"),
        goal=CANARY,
    )
    delegate = ("agent__delegate", {"task": f"Read {CANARY}", "tools": ["work.read"]})
    read = ("work__read", {"name": CANARY})
    replies = [plan, scene.calls(delegate), scene.calls(read), CANARY, CANARY, CANARY]
    agent = scene.agent(
        model=ScriptedModel(replies=replies),
        capabilities=[flaky, broken],
        planning={"mode": "always", "replan_budget": 0},
    )
    scene.ask(agent, f"Do it with {CANARY}")
    for decision in ("approve", "approve", "reject"):  # the plan, the step that destroys, the failed step
        output = scene.decide(agent, decision, CANARY)
    assert output["status"] == "failed"
    return agent


def test_a_run_is_one_trace_over_all_its_gates(scene: Scene, spans: Spans) -> None:
    play(scene)
    runs = spans.kind("run")
    assert [fields(span)["planwright.status"] for span in runs] == ["waiting"] * 3 + ["failed"]
    assert [span.status.status_code for span in runs] == [StatusCode.UNSET] * 3 + [StatusCode.ERROR]
    assert len({place(span).trace_id for span in spans.all}) == 1
    assert {fields(span)["gen_ai.conversation.id"] for span in spans.all} == {scene.thread}
    gates = spans.kind("gate")
    assert [span.name for span in gates] == ["gate plan", "gate step", "gate escalation"]
    decisions = [fields(span)["planwright.decision"] for span in gates]
    assert decisions == ["approved", "approved", "rejected"]
    assert all((span.start_time or 0) < (span.end_time or 0) for span in gates)


def test_calls_are_in_their_steps_and_lanes_in_those_of_their_parents(scene: Scene, spans: Spans) -> None:
    play(scene)
    run = "invoke_agent planwright"
    by_capability = {fields(span)["planwright.capability"]: span for span in spans.kind("lane")}
    inner = by_capability["agent.delegate"]
    assert spans.around(inner) == ["step s3", "lane s3", run]
    assert spans.around(spans.newest("execute_tool trial.flaky")) == ["step s2", run]
    assert spans.around(spans.newest("execute_tool work.destroy")) == ["step s4", "lane s4", run]
    around = [spans.around(span) for span in spans.all if span.name == "execute_tool work.read"]
    assert sorted(around, key=len) == [["step s1", run], [inner.name, "step s3", "lane s3", run]]
    asked = [spans.around(span)[0] for span in spans.kind("chat")]
    assert asked.count(inner.name) == 2
    assert asked.count("step s3") == 2


def test_a_model_call_says_who_was_asked_and_what_it_used(scene: Scene, spans: Spans) -> None:
    play(scene)
    chat = spans.kind("chat")[0]
    assert (chat.name, chat.kind) == ("chat scripted", SpanKind.CLIENT)
    names = ("operation.name", "provider.name", "request.model", "usage.input_tokens", "usage.output_tokens")
    values = [fields(chat)[f"gen_ai.{name}"] for name in names]
    assert values == ["chat", "given", "scripted", 10, 10]


def test_a_retry_is_an_event_and_a_failure_the_status_of_its_span(scene: Scene, spans: Spans) -> None:
    play(scene)
    call = spans.newest("execute_tool trial.flaky")
    assert [event.name for event in call.events] == ["plan_step_retry"]
    assert call.status.status_code == StatusCode.UNSET
    for name in ("execute_tool trial.broken", "step s5"):
        failed = spans.newest(name)
        assert (failed.status.status_code, failed.status.description) == (StatusCode.ERROR, None)
        assert fields(failed)["error.type"] == "tool_failed"
    assert fields(spans.newest("step s4"))["planwright.status"] == "completed"


def test_neither_spans_nor_logs_hold_arguments_prompts_results_or_errors(
    scene: Scene, spans: Spans, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "planwright"):
        play(scene)
    assert len(spans.all) > 20
    assert CANARY not in " ".join(span.to_json() for span in spans.all)
    records = [record for record in caplog.records if record.name.startswith("planwright")]
    assert len(records) > 20
    assert CANARY not in str([vars(record) for record in records])
    assert CANARY in str(scene.journal())


def test_a_run_within_a_span_of_its_caller_is_its_child_and_linked_to_the_trace_of_the_run(
    scene: Scene, spans: Spans
) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.destroy")), "done")
    scene.ask(agent)
    with trace.get_tracer("host").start_as_current_span("request"):
        scene.decide(agent, "approve")
    first, second = spans.kind("run")
    assert spans.around(second) == ["request"]
    assert [link.context.trace_id for link in second.links] == [place(first).trace_id]
    assert place(second).trace_id != place(first).trace_id


def test_the_span_of_a_call_is_current_in_it_and_none_of_ours_in_the_code_of_the_caller(
    scene: Scene, spans: Spans
) -> None:
    seen = []

    @capability("trial.inside", trusted_result=True, mode="read_only")
    def inside(name: str) -> str:
        """Look which span is current."""
        seen.append(trace.get_current_span().get_span_context())
        return name

    agent = scene.agent(scene.plan(scene.step("s1", "trial.inside")), "done", capabilities=[inside])
    for _ in agent.stream({"messages": [("user", "Do it")]}, scene.config):
        assert not trace.get_current_span().get_span_context().is_valid
    assert seen == [place(spans.newest("execute_tool trial.inside"))]


def test_the_sampler_of_the_program_decides_over_a_run(scene: Scene, spans: Spans) -> None:
    SWITCH.on = False
    try:
        scene.ask(scene.agent(scene.plan(scene.step("s1", "work.read")), "done"))
    finally:
        SWITCH.on = True
    assert spans.all == ()
