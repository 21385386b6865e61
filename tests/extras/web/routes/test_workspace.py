"""Settings, servers and checks on the page: looked at, and nothing changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.extras.web.conftest import START, TOKENS, MakeStage


async def test_settings_show_what_is_set_and_no_token(make_stage: MakeStage) -> None:
    ada = await make_stage().sign_in(TOKENS["ada"])
    page = (await ada.get("/workspace/settings?every=yes")).text
    assert "planning.replan_budget" in page
    assert START not in page
    assert "[hidden]" in page
    assert "No setting is named like that" in (await ada.get("/workspace/settings?text=zzz")).text
    assert "All settings are at their defaults" in (await ada.get("/workspace/settings")).text


async def test_a_server_that_nobody_trusts_says_how_it_is_trusted(
    make_stage: MakeStage, tmp_path: Path
) -> None:
    entry = {"mcpServers": {"box": {"command": "python3", "args": ["<b>server.py"]}}}
    (tmp_path / ".mcp.json").write_text(json.dumps(entry), "utf-8")
    ada = await make_stage().sign_in(TOKENS["ada"])
    page = (await ada.get("/workspace/servers")).text
    for text in ("not trusted", "planwright mcp trust box", "&lt;b&gt;server.py"):
        assert text in page


async def test_without_servers_the_page_says_where_they_stand(make_stage: MakeStage) -> None:
    ada = await make_stage().sign_in(TOKENS["ada"])
    assert ".mcp.json" in (await ada.get("/workspace/servers")).text


@pytest.mark.long
async def test_the_check_is_that_of_the_command(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in(TOKENS["ada"])
    count = len(stage.agent.door.parts.registry)
    assert "Check now" in (await ada.get("/workspace/checks")).text
    page = (await ada.post("/workspace/checks")).text
    for text in (f"{count} capabilities", "default_policy.toml", "the embedded planner serves"):
        assert text in page
