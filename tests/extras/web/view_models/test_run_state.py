"""One function tells how a run stands: live, at its end, and at any moment between."""

from __future__ import annotations

from typing import Any

from planwright.extras.web.view_models.run_state import RunState, run_state

PLAN = {
    "goal": "buy",
    "revision": 1,
    "steps": [
        {
            **{
                "id": "s1",
                "capability": "tickets.create",
                "description": "a ticket",
                "params": {"title": "T"},
            },
            **{
                "after": [],
                "risk": "Medium",
                "mode": "local_write",
                "effect": "idempotent",
                "own_gate": False,
            },
        }
    ],
}
STEP = {"step_id": "s1", "uid": "u1", "capability": "tickets.create", "attempts": 1, "seconds": 0.5}
GATE = {"gate_id": "g1", "kind": "plan", "expires_at": "2026-11-25T10:00:00+00:00"}


def events() -> list[dict[str, Any]]:
    """Write the events of a run of one step with a gate."""
    tell = [
        ("user_message", {"content": "buy it"}),
        ("plan_verified", {"outcome": "ok", "plan": PLAN, "findings": []}),
        ("approval_requested", GATE),
        ("approval_given", {"gate_id": "g1", "by": "ada"}),
        ("approval_resolved", {"gate_id": "g1", "decision": "approved", "by": "ben", "reason": "fine"}),
        ("plan_step_start", STEP),
        ("plan_step_complete", {**STEP, "status": "completed"}),
        ("step_scored", {"step_id": "s1", "findings": ["slow"]}),
        ("verdict", {"verdict": "accept", "reason": "every step succeeded"}),
        ("agent_message", {"content": "bought"}),
        ("run_end", {"status": "completed"}),
    ]
    return [
        {"seq": n, "ts": f"2026-11-24T10:00:{n:02}.000+00:00", "type": kind, "data": data}
        for n, (kind, data) in enumerate(tell, 1)
    ]


def test_a_run_stands_as_its_events_say_at_every_moment() -> None:
    states = [run_state(events(), seq) for seq in range(len(events()) + 1)]
    assert states[0] == RunState()
    assert [state.seq for state in states] == list(range(12))
    assert [state.view.lines[0].state for state in states[2:]] == ["pending"] * 4 + ["running"] + ["done"] * 5
    assert [len(state.open_gates) for state in states] == [0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    assert states[4].open_gates[0].approvals == ("ada",)
    assert (states[-1].answer, states[-1].status, states[9].answer) == ("bought", "completed", "")
    assert states[-1].notes == {"s1": ("slow",)}
    assert states[-1].gates["g1"].by == "ben"


def test_read_on_from_any_moment_it_ends_the_same() -> None:
    whole = run_state(events())
    for seq in range(len(events()) + 1):
        assert run_state(events()[seq:], before=run_state(events(), seq)) == whole


def test_a_plan_that_may_not_run_leaves_the_one_before_and_says_why() -> None:
    finding = {"code": "no_capability", "message": "there is none"}
    refused = {"seq": 12, "ts": "2026-11-24T10:00:12.000+00:00", "type": "plan_verified"}
    told = [*events(), {**refused, "data": {"outcome": "failed", "plan": None, "findings": [finding]}}]
    state = run_state(told)
    assert state.plan == PLAN
    assert state.findings == ("there is none",)


def test_a_gate_that_is_open_when_its_run_ends_is_closed() -> None:
    told = [event for event in events() if event["type"] != "approval_resolved"]
    assert run_state(told).open_gates == []
