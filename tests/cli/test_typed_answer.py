"""A typed answer from the command line: asked for by an option, printed, and shown again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.wire.scripted_server import ScriptedServer, says

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.desk import Desk

VALUE = {"count": 4}
PLAN = {"goal": "List the tickets", "steps": [{"id": "s1", "capability": "tickets.list", "params": {}}]}


@pytest.mark.enable_socket
@pytest.mark.parametrize("as_json", [False, True])
def test_a_typed_answer_is_printed_and_shown_again(as_json: bool, desk: Desk, tmp_path: Path) -> None:
    form = tmp_path / "form.json"
    form.write_text('{"count": "int"}', encoding="utf-8")
    replies = [says(json.dumps(PLAN)), says("Four are open."), says(json.dumps(VALUE))]
    with ScriptedServer(replies) as server:
        local = f'[providers.local]\nbase_url = "{server.base_url}"\napi_key = "k"\nmodel = "m"\n'
        desk.settings(f'{local}[planning]\nmode = "always"\n')
        options = ["--answer-schema", f"@{form}", *(["--json"] if as_json else [])]
        done = desk.run("run", "How many tickets are open?", *options)
    assert done.code == 0
    if as_json:
        assert done.json["answer_value"] == VALUE
    else:
        assert done.stdout == "Four are open.\n"
        assert 'value      {"count": 4}' in done.stderr
    assert 'value      {"count": 4}' in desk.run("show", "last").stdout
    assert desk.run("show", "last", "--json").json["answer_value"] == VALUE


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "--answer-schema is no JSON object"),
        ("@absent.json", "cannot read --answer-schema"),
        ('{"count": "much"}', "`answer_schema` is wrong: 'much' is no type"),
    ],
)
def test_a_form_that_is_none_is_refused(text: str, why: str, desk: Desk) -> None:
    refused = desk.run("run", "What tickets are open?", "--answer-schema", text)
    assert (refused.code, why in refused.stderr) == (2, True)
    assert desk.run("ls", "--json").json["runs"] == []
