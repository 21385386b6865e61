"""Trust in a server's entry: given once, for this entry alone, in a file made to be read."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from planwright.domain.errors import SetupError
from planwright.extras.mcp.standing import read_standings
from planwright.extras.mcp.trust import Trust
from planwright.settings.settings import load


def states(folder: Path, servers: dict[str, Any], **flags: Any) -> dict[str, str]:
    """Write the servers and say how each stands."""
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers}), "utf-8")
    return {standing.name: standing.state for standing in read_standings(load(folder, **flags))}


def trust_all(folder: Path) -> Trust:
    """Trust every server of a folder."""
    trust = Trust(load(folder).workspace)
    for standing in read_standings(load(folder)):
        trust.give(standing.server, standing.files, "ada")
    return trust


def test_nobody_is_trusted_at_first(tmp_path: Path) -> None:
    assert states(tmp_path, {"one": {"command": "sh"}}) == {"one": "untrusted"}


def test_trust_holds_for_the_entry_as_it_was(tmp_path: Path) -> None:
    states(tmp_path, {"one": {"command": "sh"}, "two": {"command": "sh"}})
    trust_all(tmp_path)
    changed = {"one": {"command": "sh"}, "two": {"command": "sh", "args": ["-c", "true"]}}
    assert states(tmp_path, changed) == {"one": "trusted", "two": "untrusted"}


def test_trust_in_one_name_is_none_in_another(tmp_path: Path) -> None:
    states(tmp_path, {"one": {"command": "sh"}})
    trust_all(tmp_path)
    assert states(tmp_path, {"two": {"command": "sh"}}) == {"two": "untrusted"}


def test_the_file_says_what_is_trusted_and_by_whom_but_no_value_of_a_variable(tmp_path: Path) -> None:
    states(tmp_path, {"one": {"command": "sh", "args": ["-c", "true"], "env": {"KEY": "s3cret"}}})
    text = trust_all(tmp_path).path.read_text("utf-8")
    assert "s3cret" not in text
    given = json.loads(text)["trusted"]["mcp one"]
    assert given["shows"] == '["sh", "-c", "true"]'
    assert given["given_by"] == "ada"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"one": {}}', '{"one": true}'])
def test_a_file_that_cannot_be_read_trusts_nobody(tmp_path: Path, text: str) -> None:
    states(tmp_path, {"one": {"command": "sh"}})
    trust_all(tmp_path).path.write_text(text, "utf-8")
    assert [standing.state for standing in read_standings(load(tmp_path))] == ["untrusted"]


@pytest.mark.parametrize(
    ("fields", "flags"), [({"disabled": True}, {}), ({}, {"mcp": {"one": {"enabled": False}}})]
)
def test_what_is_switched_off_needs_nothing(
    tmp_path: Path, fields: dict[str, Any], flags: dict[str, Any]
) -> None:
    assert states(tmp_path, {"one": {"command": "no-such-program", **fields}}, **flags) == {"one": "off"}


def test_settings_of_a_server_that_is_not_listed_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"`mcp\.tiem`: \.mcp\.json lists no server"):
        states(tmp_path, {"time": {"command": "sh"}}, mcp={"tiem": {"mode": "destructive"}})


def test_what_is_trusted_and_taken_back_at_the_same_time_stays_so(tmp_path: Path) -> None:
    names = [f"server{number}" for number in range(24)]
    states(tmp_path, {name: {"command": "sh"} for name in names})
    standing = {one.name: one for one in read_standings(load(tmp_path))}
    trust_all(tmp_path)
    trusted, untrusted = names[::2], names[1::2]
    trust = Trust(load(tmp_path).workspace)
    for name in trusted:
        trust.take_back(name)

    def change(name: str) -> None:
        if name in untrusted:
            assert trust.take_back(name)
        else:
            trust.give(standing[name].server, standing[name].files, "ada")

    with ThreadPoolExecutor(8) as people:
        list(people.map(change, names))
    assert sorted(trust.read()) == sorted(trusted)
