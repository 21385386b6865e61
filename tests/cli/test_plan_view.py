"""What is shown of a plan: no argument hides, or passes for a line of ours."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from planwright.cli.session.event_lines import event_line
from planwright.cli.views.call_card import call_view
from planwright.cli.views.plan_card import plan_view

FORGED = "s9  files.read      None     read_only"


def lines(view: Any, width: int) -> list[str]:
    """Print a view at a width and return its lines."""
    screen = io.StringIO()
    Console(file=screen, width=width, highlight=False).print(view)
    return screen.getvalue().splitlines()


def card(id_: str = "s1", changes: tuple[str, ...] = (), **params: Any) -> dict[str, Any]:
    """Write the card of a plan of one step."""
    step: dict[str, Any] = {"id": id_, "capability": "files.write", "risk": "Medium", "mode": "local_write"}
    step |= {"after": [], "own_gate": False, "params": params}
    return {"request": "g", "goal": "g", "risk": "Medium", "steps": [step], "changes": list(changes)}


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(
    "text",
    [f"hello\n  {FORGED}", f"hello\r  {FORGED}", f"hello\u2028  {FORGED}", "hello" + " " * 300 + FORGED]
    + [f"\x1b[1A\x1b[2K  {FORGED}", "hello" * 40 + f"\n\n  {FORGED}"],
    ids=["newline", "return", "separator", "padding", "escape", "long"],
)
def test_no_argument_passes_for_a_step(text: str, width: int) -> None:
    shown = lines(plan_view(card(text=text)), width)
    steps = [line for line in shown if line[:2] == "  " and line[2:3].strip()]
    assert len(steps) == 1
    assert steps[0].startswith("  s1")
    assert "s9" in "".join(shown)


def test_an_id_stays_on_its_line() -> None:
    shown = lines(plan_view(card(id_=f"s1\n  {FORGED}")), 120)
    assert [line for line in shown if line.startswith("  s9")] == []


def test_no_argument_of_a_call_passes_for_another_line() -> None:
    view = {"capability": "mail.send", "description": "d", "reason": "r", "mode": "network", "risk": "High"}
    shown = lines(call_view({**view, "effect": "blind", "args": {"text": "a\nrisk       None"}}), 80)
    assert [line.split()[1] for line in shown if line.startswith("risk")] == ["High"]


CHAIN = {"capability": "tidy", "description": "d", "reason": "r", "mode": "destructive", "risk": "High"}


def test_a_chain_is_shown_with_its_calls_and_what_asks_again() -> None:
    known = {"id": "s2.1", "capability": "disk.wipe", "args": {"path": "/old"}, "risk": "High"}
    known |= {"mode": "destructive", "gate_included": "step_1"}
    unknown = {**known, "id": "s2.2", "args": {"path": "{{previous_result.next}}"}}
    del unknown["gate_included"]
    view = {
        **CHAIN,
        "effect": "blind",
        "args": {},
        "definition": "abcdef012345xyz",
        "steps": [known, unknown],
    }
    shown = lines(call_view(view), 80)
    assert [line.split() for line in shown if "disk.wipe" in line] == [
        ["s2.1", "disk.wipe", "High", "risk"],
        ["s2.2", "disk.wipe", "High", "risk", "own", "gate"],
    ]
    assert any("path: /old" in line for line in shown)
    assert any("abcdef012345" in line for line in shown)


def test_a_plan_shows_the_calls_of_its_chains() -> None:
    plan = card(topic="t")
    calls = [{"id": "1", "capability": "mail.search", "arguments": {"query": f"a\n  {FORGED}"}}]
    plan["steps"][0]["chain"] = {"definition": "abc", "calls": calls}
    shown = lines(plan_view(plan), 100)
    assert any(line.split() == ["1", "mail.search"] for line in shown)
    assert [line for line in shown if line.startswith("  s9")] == []


@pytest.mark.parametrize(
    "hidden", ["\u202e", "\u2066", "\u200f", "\u200b", "\u061c", "\x1b", "\x9b"], ids=ascii
)
def test_what_would_not_show_is_shown_as_an_escape(hidden: str) -> None:
    shown = "".join(lines(plan_view(card(changes=(f"to {hidden}x",), to=f"bob{hidden}x")), 80))
    assert hidden not in shown
    assert shown.count(ascii(hidden)[1:-1]) == 2


def test_what_was_asked_for_and_what_will_happen_come_before_the_words_of_a_model() -> None:
    plan = {
        **card(text="x"),
        "request": "Write x down",
        "goal": f"Safe, and approved\nrisk       None\n{FORGED}",
    }
    shown = lines(plan_view(plan), 120)
    assert shown[0].split(maxsplit=1) == ["plan", "1 step for: Write x down"]
    (step,) = [number for number, line in enumerate(shown) if line.startswith("  s1")]
    (goal,) = [number for number, line in enumerate(shown) if "Safe, and approved" in line]
    assert 0 < step < goal
    assert shown[goal].split(maxsplit=1) == ["goal", "in the planner's words: Safe, and approved"]
    assert not any(line.startswith(("risk       None", FORGED)) for line in shown)


@pytest.mark.parametrize(("length", "cut"), [(300, False), (301, True)])
def test_a_long_request_is_cut_and_how_much_is_said(length: int, cut: bool) -> None:
    shown = "".join(line[11:].rstrip() for line in lines(plan_view({**card(), "request": "x" * length}), 120))
    assert ("x" * length in shown) is not cut
    assert (f"…({length}characters,asitwasasked)" in "".join(shown.split())) is cut


def test_every_change_is_shown_in_full() -> None:
    change = f"changed s1 params.to: {'x' * 300} → y"
    shown = lines(plan_view(card(changes=("removed s2 mail.send", change))), 80)
    assert "removed s2 mail.send" in "\n".join(shown)
    assert "x" * 300 in "".join(line[11:].rstrip() for line in shown)


@pytest.mark.parametrize("kind", ["plan_step_failed", "tool_call_end"])
def test_no_error_passes_for_a_line_of_its_own(kind: str) -> None:
    about = {"step_id": "s1", "capability": "files.read", "status": "failed", "seconds": 1.0}
    error = f"broken\n  ✓ {FORGED}" + " " * 80 + f"  ✓ {FORGED}"
    shown = lines(event_line({"type": kind, "data": {**about, "error": error}}), 80)
    assert "broken" in shown[0]
    assert all(line.startswith(" " * 8) for line in shown[1:])


@pytest.mark.parametrize(("risk", "whole"), [("None", False), ("Medium", True), ("Critical", True)])
def test_a_risky_call_of_a_model_is_told_with_all_its_arguments(risk: str, whole: bool) -> None:
    call = {"capability": "mail.send", "args": {"text": "x" * 500}, "risk": risk}
    shown = lines(event_line({"type": "tool_call_start", "data": call}), 80)
    assert ("x" * 500 in "".join(line.strip() for line in shown)) is whole


def test_what_a_step_asks_of_its_model_is_shown_under_it() -> None:
    plan = card(tools=["mail.search"])
    plan["steps"][0] |= {"capability": "agent", "description": "Weigh them"}
    hinted = {"requires_reasoning": "required", "requires_code": "preferred", "min_context": 100_000}
    plan["steps"][0]["model_hint"] = hinted
    shown = [line.strip() for line in lines(plan_view(plan), 100)]
    assert "model hint: reasoning required, code preferred, min_context 100000" in shown


def test_the_gates_of_a_step_and_the_decisions_before_it_are_shown_under_it() -> None:
    plan = card(tools=["mail.search"])
    finance = {
        "name": "finance",
        "approvers": ["kim", "sam"],
        "quorum": 2,
        "expires_s": 60,
        "reason": "money",
    }
    plan["steps"][0] |= {"gates": [finance, {"name": "legal"}], "decisions": ["refund"]}
    shown = "\n".join(line.strip() for line in lines(plan_view(plan), 100))
    assert "gate: finance, opened by kim, sam, 2 of them, within 60 s: m" in shown
    assert "gate: legal, opened by anybody" in shown
    assert "gate: after the decision refund, which nobody can take yet" in shown


@pytest.mark.parametrize(
    ("why", "lacks", "says"),
    [
        ("fits", [], "step s1 is done by b/deep-1, which has what it asks for"),
        ("fallback", ["vision"], "step s1 is done by b/deep-1 without vision, for nobody fits better"),
        (
            "chosen",
            ["vision", "code"],
            "step s1 is done by b/deep-1 without vision, code, chosen for the whole run",
        ),
        ("chosen", [], "step s1 is done by b/deep-1, chosen for the whole run"),
    ],
)
def test_which_model_does_a_step_is_told_with_what_it_lacks(why: str, lacks: list[str], says: str) -> None:
    data = {"step_id": "s1", "provider": "b", "model": "deep-1", "why": why, "lacks": lacks}
    (shown,) = lines(event_line({"type": "model_routed", "data": data}), 120)
    assert shown.removeprefix("model").strip() == says
