"""Every route and every right, by a table made from the routes: a right that is not asked for is refused."""

from __future__ import annotations

import pytest

from tests.extras.web.conftest import BASE, RIGHT_TOKENS, Browser, MakeStage, Stage
from tests.extras.web.test_guard import content, filled, routes_of, send

ANYBODY = set(RIGHT_TOKENS)
NEEDED = {
    ("GET", "/workspace/people"): {"audit", "operate"},
    ("GET", "/workspace/servers"): {"audit", "operate"},
    ("GET", "/workspace/settings"): {"audit", "operate"},
    ("GET", "/workspace/checks"): {"audit", "operate"},
    ("GET", "/runs/{run_id}/policy"): {"audit", "operate"},
    ("POST", "/runs/{run_id}/policy"): {"audit", "operate"},
    ("POST", "/runs/{run_id}/pause"): {"operate"},
    ("POST", "/runs/{run_id}/queue"): {"operate"},
    ("POST", "/runs/{run_id}/extend"): {"operate"},
    ("POST", "/workspace/checks"): {"operate"},
    ("POST", "/workspace/capabilities/{capability}"): {"request"},
    ("POST", "/workspace/memory/{memory_id}/forget"): {"request"},
    ("POST", "/workspace/proposals/{proposal_id}/accept"): {"approve"},
    ("POST", "/workspace/proposals/{proposal_id}/reject"): {"approve"},
    ("POST", "/approvals/together"): {"approve"},
    ("POST", "/approvals/{gate_id}"): {"approve"},
    ("POST", "/approvals/{gate_id}/edit"): {"approve"},
    ("POST", "/approvals/{gate_id}/check"): {"approve"},
    ("POST", "/runs/{run_id}/doubts"): {"approve"},
    ("POST", "/runs/{run_id}/reply"): {"request"},
    ("POST", "/runs/{run_id}/cancel"): {"request", "operate"},
    ("POST", "/runs/{run_id}/resume"): {"request", "operate"},
    ("POST", "/runs/{run_id}/fork"): {"request"},
    ("POST", "/runs/{run_id}/undo"): {"operate"},
    ("POST", "/new"): {"request"},
}
NOBODYS = {("POST", "/sign-in"), ("POST", "/sign-out"), ("POST", "/answer/{token}")}


async def people_of(stage: Stage) -> dict[str, Browser]:
    """Sign somebody in with each right, and no other."""
    return {right: await stage.sign_in(token) for right, token in RIGHT_TOKENS.items()}


async def test_each_route_is_for_those_who_may(make_stage: MakeStage) -> None:
    stage = make_stage()
    run_id, gate_id = await stage.waiting_gate(await stage.sign_in())
    remembered = await stage.remembered(run_id)
    ids = {"run_id": run_id, "gate_id": gate_id, "seq:int": "3", "capability": "tickets.create"} | remembered
    people = await people_of(stage)
    table, before = routes_of(stage.app), content(stage)
    assert set(NEEDED) <= set(table)
    assert {route for route in table if route[0] == "POST"} <= set(NEEDED) | NOBODYS
    for method, pattern in table:
        wrong = ANYBODY - NEEDED.get((method, pattern), ANYBODY)
        for right in sorted(wrong):
            path, browser = filled(pattern, ids), people[right]
            answer = await send(browser.client, method, path, {"Origin": BASE}, browser.csrf)
            assert answer.status_code == 403, (method, pattern, right)
            assert "this is for people who may" in answer.text, (method, pattern, right)
    assert content(stage) == before


async def test_a_request_passes_through_the_hands_of_several_people(make_stage: MakeStage) -> None:
    stage = make_stage()
    people = await people_of(stage)
    run_id, gate_id = await stage.waiting_gate(people["request"])
    assert "only people who may approve decide" in (await people["request"].get(f"/approvals/{gate_id}")).text
    assert (await stage.answer(people["approve"], gate_id, "approve")).status_code == 303
    assert await stage.ended(run_id) == "completed"
    gate = await stage.agent.stores.gates.read(gate_id)
    assert (gate.decided_by, gate.channel) == ("approve", "web")
    page = (await people["audit"].get("/workspace/people")).text
    assert page.count("<td>signed in</td>") == len(RIGHT_TOKENS)


@pytest.mark.parametrize("right", sorted(RIGHT_TOKENS))
async def test_a_person_is_offered_what_they_may(make_stage: MakeStage, right: str) -> None:
    page = (await (await make_stage().sign_in(RIGHT_TOKENS[right])).get("/approvals")).text
    assert f'data-may="{right}"' in page
    assert ('class="button new"' in page) is (right == "request")
