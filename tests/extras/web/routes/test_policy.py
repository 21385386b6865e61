"""The policy on the page: its rules, its answer to a call that is not made, and another one over a run."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import urlencode

import pytest
from markupsafe import escape

from planwright.cli.commands.option_groups import CallOptions
from planwright.cli.views.policy_views import explain_call
from tests.extras.web.conftest import TOKENS, MakeStage
from tests.extras.web.test_guard import content

DENY = """
[[rule]]
match.capability = "tickets.*"
when = "args.title.size() > 3"
decide = "deny"
reason = "no <long> titles"

[[rule]]
decide = "allow"
"""


async def test_the_rules_and_the_answer_to_a_call_are_shown_and_nothing_is_called(
    make_stage: MakeStage,
) -> None:
    stage = make_stage(policy=DENY)
    ada = await stage.sign_in(TOKENS["ada"])
    page = (await ada.get("/workspace/policy")).text
    assert "args.title.size() &gt; 3" in page
    assert "no &lt;long&gt; titles" in page

    async def answer(args: str, status: int = 200) -> str:
        query = urlencode({"capability": "tickets.create", "args": args})
        answered = await ada.get(f"/workspace/policy?{query}")
        assert answered.status_code == status
        return answered.text

    denied = await answer('{"title": "Long", "body": "x"}')
    assert "nobody is asked: the call is not made" in denied
    assert "policy.toml:" in denied
    assert "nobody is asked: the call is not made" not in await answer('{"title": "L", "body": "x"}')
    assert "would be refused" in await answer('{"title": 7}')
    assert "depends on arguments that are not known yet" in await answer("")
    for wrong in ("[]", "{", "[" * 10_000):
        assert "no JSON object" in await answer(wrong, 409)
    assert "Nothing was asked yet" in (await ada.get("/runs")).text


async def test_what_the_command_says_of_a_call_is_on_the_page(
    make_stage: MakeStage, capsys: pytest.CaptureFixture[str]
) -> None:
    stage = make_stage(policy=DENY)
    ada = await stage.sign_in(TOKENS["ada"])
    for name in ("tickets.create", "files.write", "mail.draft", "files.read"):
        call = CallOptions(None, "default", None, tainted=True)
        assert explain_call(name, call, stage.folder, as_json=True) == 0
        consent = json.loads(capsys.readouterr().out)["consent"]
        page = (await ada.get(f"/workspace/policy?capability={name}&tainted=yes")).text
        assert escape(consent) in page
    page = (await ada.get("/workspace/policy?capability=mail.draft&tainted=yes")).text
    assert "after reading what others wrote" in page


async def test_an_unknown_capability_or_agent_is_named(make_stage: MakeStage) -> None:
    ada = await make_stage().sign_in(TOKENS["ada"])
    assert (await ada.get("/workspace/policy?capability=no.such")).status_code == 409
    assert (await ada.get("/workspace/policy?capability=tickets.create&agent=none")).status_code == 409


async def test_a_policy_that_has_changed_since_the_start_is_told(make_stage: MakeStage) -> None:
    stage = make_stage(policy=DENY)
    ada = await stage.sign_in(TOKENS["ada"])
    assert "It has changed" not in (await ada.get("/workspace/policy")).text
    (stage.folder / "policy.toml").write_text(DENY.replace("> 3", "> 4"), "utf-8")
    assert "It has changed" in (await ada.get("/workspace/policy")).text


async def test_a_run_is_judged_by_another_policy_and_nothing_is_recorded(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in(TOKENS["ada"])
    run_id, gate_id = await stage.waiting_gate(ada)
    await stage.answer(ada, gate_id, "approve")
    assert await stage.ended(run_id) == "completed"
    assert "[[rule]]" in (await ada.get(f"/runs/{run_id}/policy")).text
    before = content(stage)
    page = (await ada.post(f"/runs/{run_id}/policy", policy=DENY)).text
    assert "deny" in page
    assert "no &lt;long&gt; titles" in page
    allow = await ada.post(f"/runs/{run_id}/policy", policy='[[rule]]\ndecide = "allow"\n')
    assert "Its answers" in allow.text
    assert content(stage) == before
    for wrong in ("x = [", '[[rule]]\nmatch.capability = "no.such"\ndecide = "deny"\n', "#" * 200_000):
        assert (await ada.post(f"/runs/{run_id}/policy", policy=wrong)).status_code == 409


async def test_a_policy_that_takes_long_keeps_no_other_page_waiting(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in(TOKENS["ada"])
    run_id, gate_id = await stage.waiting_gate(ada)
    await stage.answer(ada, gate_id, "approve")
    assert await stage.ended(run_id) == "completed"
    numbers = list(range(60))
    long = "a + b + c >= 0"
    for name in "cba":
        long = f"{numbers}.all({name}, {long})"
    rule = f'[[rule]]\nwhen = \'{long}\'\ndecide = "ask"\nreason = "x"\n'
    judging = asyncio.create_task(
        ada.post(f"/runs/{run_id}/policy", policy=rule * 30 + '[[rule]]\ndecide = "allow"\n')
    )
    await asyncio.sleep(0.2)
    assert (await ada.get("/runs")).status_code == 200
    assert not judging.done()
    assert (await judging).status_code == 200


async def test_the_page_says_ask_of_what_a_person_is_asked_about(make_stage: MakeStage) -> None:
    ada = await make_stage().sign_in(TOKENS["ada"])
    query = urlencode({"capability": "tickets.create", "args": '{"title": "Long"}'})
    page = (await ada.get(f"/workspace/policy?{query}")).text
    answer = page[page.index('<div role="status">') : page.index("Its mode alone")]
    assert "<span>ask</span>" in answer
    assert "<span>allow</span>" not in answer
    assert "a person is asked: risk Medium" in answer
