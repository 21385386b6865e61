"""Whatever calls a model makes up, only the good ones run, and any provider takes the history after it.

`malformed_calls.jsonl` holds one reply a line: a name, the fields of an AIMessage (`repeat` multiplies
its calls), and as `dispatched` the calls that run. `earlier` is the id of a call made before; calls of
`disk__wipe` ask a person, who rejects them. No effect runs behind a call that does not run and may be one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from benchmarks.played_calls import Player, Ran, flaws, recording, whole_run
from planwright.capabilities.call_context import CallContext
from planwright.records.stores import open_stores
from planwright.security.jail import Jail
from planwright.settings.settings import load

CASES = [
    json.loads(line)
    for line in Path(__file__)
    .with_suffix("")
    .parent.joinpath("malformed_calls.jsonl")
    .read_text("utf-8")
    .splitlines()
]
RUN = 60  # turns of one run
GOOD = {"name": "notes__add", "args": {"text": "good"}, "id": "earlier"}


def fields_of(case: dict[str, Any]) -> dict[str, Any]:
    """Write the fields of a case's reply out."""
    fields = {key: value for key, value in case.items() if key not in ("name", "dispatched", "repeat")}
    calls = {k: v * case["repeat"] for k, v in fields.items() if "tool_calls" in k and "repeat" in case}
    return {"content": "", **fields, **calls}


def expected(case: dict[str, Any]) -> Ran:
    return [(tool, args) for tool, args in case["dispatched"]]


def in_any_order(ran: Ran) -> list[str]:
    return sorted(json.dumps(call, sort_keys=True) for call in ran)


def is_message(case: dict[str, Any]) -> bool:
    """Say whether LangChain lets a case's reply be a message that calls tools."""
    try:
        message = AIMessage(**fields_of(case))
    except (ValueError, TypeError, AttributeError):
        return False
    return bool(message.tool_calls or message.invalid_tool_calls)


PLAYABLE = [case for case in CASES if is_message(case)]


@pytest.fixture(scope="module")
def player(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Player]:
    folder = tmp_path_factory.mktemp("malformed")
    stores = open_stores(folder / "store")
    settings = load(folder)
    yield Player(recording([]), CallContext(settings, Jail(settings.workspace), stores.memories))
    stores.close()


def test_there_are_enough_cases_and_no_name_twice() -> None:
    assert len({case["name"] for case in CASES}) == len(CASES) >= 300


@pytest.mark.sampled(80)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
async def test_a_reply_runs_its_good_calls_and_leaves_a_valid_history(
    player: Player, case: dict[str, Any]
) -> None:
    player.begin()
    await player.play(AIMessage("", tool_calls=[GOOD]))
    ran = await player.play(AIMessage.model_construct(**fields_of(case)))
    assert ran == expected(case)
    assert flaws(player.conversation) == []


@pytest.mark.long
@pytest.mark.sampled(1)
@pytest.mark.parametrize("first", range(0, len(PLAYABLE), RUN))
def test_a_run_survives_malformed_replies_turn_after_turn(tmp_path: Path, first: int) -> None:
    cases = PLAYABLE[first : first + RUN]
    ran, wrong = whole_run([fields_of(case) for case in cases], tmp_path)
    assert wrong == []
    assert in_any_order(ran) == in_any_order([call for case in cases for call in expected(case)])


def test_a_history_with_an_answer_out_of_turn_is_noticed(player: Player) -> None:
    player.begin()
    assert flaws([AIMessage("", tool_calls=[GOOD])]) != []
    assert flaws([AIMessage("", tool_calls=[{**GOOD, "id": "a b"}])]) != []
