"""What may come back from a checkpoint: every type on the list, and nothing else."""

from __future__ import annotations

import math
import subprocess
import sys
from collections import deque
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import ormsgpack
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command, Interrupt, Overwrite, Send

from planwright.checkpoints.serde import EXT_TAGGED, MOST_KEPT, AllowListedSerializer, storable
from planwright.checkpoints.tags import TAG_OF, TAGS
from planwright.domain import chain as chains
from planwright.domain import plan, results, verified_step
from planwright.domain.errors import SetupError
from planwright.state import agent_state as state
from planwright.state import chain_state, compaction, loop_state
from tests.patience import PATIENCE_S

STEP = plan.PlanStep(id="s1", capability="mail.search", params={"query": "invoice", "nested": [{"a": None}]})
CRITERION = plan.Criterion(cel="output.count > 0")
CHECKED = verified_step.VerifiedStep(
    step=STEP, uid="step_1", needs=("step_0",), effect="pure", mode="read_only", risk="Low", gated=False
)
CALL = chains.ChainCall(id="1", capability="mail.search", arguments={"query": "{{input.topic}}"})
CHAIN = chains.Chain(name="find", description="d", inputs={"topic": chains.ChainParameter()}, calls=(CALL,))
CHAINED = CHECKED.model_copy(update={"chain": CHAIN})
SCORE = results.StepScore(
    step_id="s1", policy=1, utility=0.5, safety=1, latency=1, cost=1, findings=("late",)
)
ROUTE = state.ModelRoute(provider="embedded", model="m", embedded=True)
SAMPLES: dict[type, Any] = {
    plan.Plan: plan.Plan(plan_id="plan_1", goal="g", steps=(STEP,)),
    plan.PlanStep: STEP.model_copy(update={"success_criteria": CRITERION}),
    plan.Criterion: CRITERION,
    verified_step.VerifiedStep: CHECKED,
    results.StepResult: results.StepResult(
        uid="step_1", step_id="s1", capability="mail.search", status="completed", output={"count": 3}
    ),
    results.StepScore: SCORE,
    compaction.Compaction: compaction.Compaction(upto="m1", summary="s", kept="m0", left_out=3),
    results.RunVerdict: results.RunVerdict(run_id="r", plan_id="p", verdict="accept", step_scores=(SCORE,)),
    results.Finding: results.Finding(code="cycle", step_id="s1", message="m", fix="f"),
    state.ModelRoute: ROUTE,
    state.PlanningDecision: state.PlanningDecision(mode="auto", score=3, planned=True, complex=True),
    state.Task: state.Task(task="t", memories=("a", "b")),
    state.Attempts: state.Attempts(replans=1, plans=2),
    loop_state.LoopTask: loop_state.LoopTask(lane="main", goal="g", route=ROUTE, tools=("mail.search",)),
    loop_state.ToolCall: loop_state.ToolCall(call_id="c1", index=0, name="mail__search", checked=CHECKED),
    chain_state.ChainTask: chain_state.ChainTask(checked=CHAINED, plan_hash="h", args={"a": [1, None]}),
    loop_state.LoopOutcome: loop_state.LoopOutcome(status="completed", text="done"),
    loop_state.CallDoubt: loop_state.CallDoubt(call_id="c1", uid="step_1", status="left"),
}
PLAIN: list[Any] = [
    None,
    {"a": [1, 2.5, True, None, "ö", b"bytes"]},
    {1: "a number as a key"},
    datetime(2026, 11, 21, 12, tzinfo=UTC),
    Decimal("4310.50"),
    UUID("12345678123456781234567812345678"),
    {"a", "b"},
    deque([1, 2]),
    Path("notes/roadmap.md"),
    [HumanMessage("hello", id="1"), AIMessage("hi", id="2")],
    Send("lane", {"step_task": CHECKED}),
    Interrupt(value={"gate_id": "g"}, id="i"),
]


def ext(code: int, *content: Any) -> ormsgpack.Ext:
    """Spell an extension type as LangGraph does: a code, and module, name and arguments."""
    return ormsgpack.Ext(code, ormsgpack.packb(content, option=ormsgpack.OPT_NON_STR_KEYS))


def read(payload: Any) -> Any:
    data = ormsgpack.packb(payload, option=ormsgpack.OPT_NON_STR_KEYS)
    return AllowListedSerializer().loads_typed(("msgpack", data))


def test_there_is_a_sample_of_every_allowed_type() -> None:
    assert set(SAMPLES) == set(TAG_OF)


@pytest.mark.parametrize("kind", TAG_OF, ids=lambda kind: kind.__name__)
def test_an_allowed_type_comes_back_as_it_was(kind: type) -> None:
    serde = AllowListedSerializer()
    back = serde.loads_typed(serde.dumps_typed(SAMPLES[kind]))
    assert type(back) is kind
    assert back == SAMPLES[kind]


@pytest.mark.parametrize("kind", TAG_OF, ids=lambda kind: kind.__name__)
def test_an_allowed_type_comes_back_out_of_containers(kind: type) -> None:
    serde = AllowListedSerializer()
    nested = {"results": {"a": [SAMPLES[kind], {"deep": (SAMPLES[kind],)}]}, "send": Send("n", SAMPLES[kind])}
    back = serde.loads_typed(serde.dumps_typed(nested))
    assert back["results"]["a"][0] == SAMPLES[kind]
    assert type(back["results"]["a"][1]["deep"][0]) is kind
    assert back["send"] == nested["send"]


@pytest.mark.parametrize("value", PLAIN, ids=lambda value: type(value).__name__)
def test_a_plain_value_comes_back_as_it_was(value: Any) -> None:
    serde = AllowListedSerializer()
    assert serde.loads_typed(serde.dumps_typed(value)) == value


@pytest.mark.parametrize(
    "payload",
    [
        ext(0, "os", "system", "true"),
        ext(1, "subprocess", "Popen", ["true"]),
        ext(2, "os", "system", {"command": "true"}),
        ext(4, "planwright.settings.settings", "Settings", {}),
        ext(5, "planwright.settings.settings", "Settings", {}, "model_validate"),
        {"results": [1, {"a": ext(0, "os", "system", "true")}]},
        ext(0, "builtins", "set", [ext(0, "os", "system", "true")]),
        ext(99, "os", "system", "true"),
        ext(EXT_TAGGED, "os.system", "true"),
    ],
    ids=[
        "single",
        "positional",
        "keyword",
        "pydantic1",
        "pydantic2",
        "nested",
        "inside an allowed type",
        "code",
        "tag",
    ],
)
def test_a_foreign_type_is_refused_with_its_name(payload: Any) -> None:
    with pytest.raises(SetupError, match=r"os\.system|subprocess\.Popen|settings\.Settings") as refused:
        read(payload)
    assert "restore a backup" in refused.value.next_step


@pytest.mark.parametrize(
    "payload",
    [
        ext(3, "pathlib", "Path", "somewhere", "unlink"),
        ext(0, ext(7, "os"), "system", "true"),
        ext(0, "os", ext(7, "system"), "true"),
    ],
    ids=["a method of an allowed type", "a hidden module", "a hidden name"],
)
def test_a_foreign_call_in_disguise_is_refused(payload: Any) -> None:
    with pytest.raises(SetupError):
        read(payload)


@pytest.mark.parametrize("kind", ["pickle", "json", "anything"])
def test_a_foreign_encoding_is_refused(kind: str) -> None:
    with pytest.raises(SetupError, match=kind):
        AllowListedSerializer().loads_typed((kind, b"cos\nsystem\n(S'true'\ntR."))


@pytest.mark.long
def test_a_foreign_type_is_refused_when_langgraph_was_imported_first(tmp_path: Path) -> None:
    script = (
        "import langgraph.graph, langgraph.checkpoint.serde.jsonplus as jsonplus\n"
        "from dataclasses import dataclass\n"
        "@dataclass\n"
        "class Foreign:\n"
        "    a: int = 1\n"
        "data = jsonplus.JsonPlusSerializer().dumps_typed({'x': [Foreign()]})\n"
        "from planwright.checkpoints.serde import AllowListedSerializer\n"
        "from planwright.domain.errors import SetupError\n"
        "try:\n"
        "    print('read', AllowListedSerializer().loads_typed(data))\n"
        "except SetupError as error:\n"
        "    print('refused', error.cause)\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.stdout.startswith("refused a checkpoint holds the type __main__.Foreign"), done.stderr


def test_values_without_a_tag_are_written_as_langgraph_writes_them() -> None:
    sent = [Send("lane", {"step_task": "s1"}), Send("slow", [1], timeout=3)]
    value = {"plain": [one for one in PLAIN if not isinstance(one, Send)], "sent": sent}
    assert AllowListedSerializer().dumps_typed(value) == JsonPlusSerializer().dumps_typed(value)


def test_our_types_are_written_by_their_tags_and_no_class_is_named() -> None:
    held = [
        Send("lane", CHECKED),
        Overwrite({"a": SCORE}),
        {SCORE},
        deque([ROUTE]),
        Command(update={"a": STEP}),
    ]
    kind, data = AllowListedSerializer().dumps_typed([*SAMPLES.values(), *held])
    assert kind == "msgpack"
    assert b"planwright." not in data
    assert all(tag.encode() in data for tag in TAGS)


def test_bytes_that_make_no_valid_value_are_refused() -> None:
    with pytest.raises(SetupError, match="cannot be read"):
        read(ext(EXT_TAGGED, "plan", {"goal": 1}))


def test_no_value_is_taken_for_another_that_was_kept_before() -> None:
    serializer = AllowListedSerializer()
    sample = SAMPLES[results.StepResult]
    for number in range(3 * MOST_KEPT):
        result = sample.model_copy(update={"output": number})
        assert serializer.loads_typed(serializer.dumps_typed(result)) == result


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, {"a": [1, math.inf]}, "half \ud800"])
def test_what_no_record_can_hold_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        storable(value)
    storable({"a": [1.5, None, "text"]})
