"""`.mcp.json`: what it may say, and where it says what it must not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planwright.capabilities.trust.mcp_entries import (
    ConfiguredServer,
    ServerEntry,
    UnreadableFile,
    read_entries,
)
from planwright.domain.errors import SetupError

PATH = {"PATH": "/usr/bin:/bin"}


def write(folder: Path, text: str | dict[str, Any]) -> Path:
    """Write the file, as text or as the table of its servers, one line a field."""
    whole = text if isinstance(text, str) else json.dumps({"mcpServers": text}, indent=1)
    path = folder / ".mcp.json"
    path.write_text(whole, "utf-8")
    return path


def only(folder: Path, **fields: Any) -> ConfiguredServer:
    """Read the file with one server in it."""
    write(folder, {"one": fields})
    (found,) = read_entries(folder)
    return found


def test_a_workspace_without_the_file_has_no_servers(tmp_path: Path) -> None:
    assert read_entries(tmp_path) == ()


def test_fields_of_other_clients_are_left_alone(tmp_path: Path) -> None:
    found = only(tmp_path, command="sh", autoApprove=["*"], timeout=5, type="stdio")
    assert found.entry == ServerEntry(command="sh", type="stdio")


@pytest.mark.parametrize(
    ("written", "environment", "filled"),
    [
        ("${HOST}", {"HOST": "a"}, "a"),
        ("x${HOST}y${HOST}", {"HOST": "a"}, "xaya"),
        ("${HOST:-b}", {}, "b"),
        ("${HOST:-b}", {"HOST": ""}, "b"),
        ("${HOST:-b}", {"HOST": "a"}, "a"),
        ("${HOST:-}", {}, ""),
        ("${HOST}", {"HOST": ""}, ""),
        ("${HOST}", {"HOST": "${OTHER}"}, "${OTHER}"),
        ("$HOST", {"HOST": "a"}, "$HOST"),
    ],
)
def test_variables_are_filled_in_once(
    tmp_path: Path, written: str, environment: dict[str, str], filled: str
) -> None:
    found = only(tmp_path, command="sh", args=[written], env={"A": written})
    entry = found.filled_in({**PATH, **environment})
    assert entry.args == [filled]
    assert entry.env == {"A": filled}
    assert found.entry.args == [written]


def test_variables_are_filled_in_everywhere(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    here = only(tmp_path, command="${SHELL_}", cwd="${WHERE}").filled_in(
        {**PATH, "SHELL_": "sh", "WHERE": "here"}
    )
    assert (here.command, here.cwd) == ("sh", "here")
    there = only(tmp_path, url="${URL}", headers={"Authorization": "Bearer ${KEY}"}).filled_in(
        {"URL": "https://mcp.example.com/mcp", "KEY": "k"}
    )
    assert (there.url, there.headers) == ("https://mcp.example.com/mcp", {"Authorization": "Bearer k"})


BROKEN: list[tuple[str, int, str]] = [
    ('{\n "mcpServers": {\n', 3, "expecting"),
    ("[]", 1, "no table `mcpServers`"),
    ('{"mcpServers": []}', 1, "no table"),
    ('{"mcpServers": {\n "one": 3}}', 2, "is no table"),
    ('{"mcpServers": {\n "one": {}}}', 2, "has no command"),
    ('{"mcpServers": {\n\t"one": {\n\t"args": []}}}', 2, "has no command"),
    ('{"mcpServers": {"one": {\n "command": "sh", "url": "http://a"}}}', 1, "a command and a url"),
    ('{"mcpServers": {"one": {\n "command": " "}}}', 2, "empty command"),
    ('{"mcpServers": {"one": {\n "command": "sh",\n "args": [\n "a",\n 3]}}}', 5, "`args.1`"),
    ('{"mcpServers": {"one": {"command": "sh",\n "env": {\n "A": 1}}}}', 3, "`env.A`"),
    ('{"mcpServers": {"one": {"command": "sh",\n "agrs": []}}}', 2, "no field `agrs`"),
    ('{"mcpServers": {"one": {"url": "http://a",\n "type": "sse"}}}', 2, "out of date"),
]


@pytest.mark.parametrize(("text", "line", "said"), BROKEN, ids=[case[2] for case in BROKEN])
def test_a_mistake_is_refused_with_its_line(tmp_path: Path, text: str, line: int, said: str) -> None:
    path = write(tmp_path, text)
    mistake = mistake_in(tmp_path)
    assert f"{path}:{line}: " in mistake.cause
    assert said in mistake.cause.lower() or said in mistake.cause
    assert mistake.next_step


def mistake_in(folder: Path) -> SetupError:
    """Read the file, and return what is wrong with it or with its only entry."""
    try:
        (only_entry,) = read_entries(folder)
    except UnreadableFile as error:
        return error
    with pytest.raises(SetupError) as refused:
        only_entry.filled_in(PATH)
    return refused.value


def test_a_mistake_in_one_entry_leaves_the_others_usable(tmp_path: Path) -> None:
    bad = {"comand": "x", "args": ["tools/serve.py"], "env": {"A": "b.py"}}
    write(tmp_path, {"bad": bad, "off": {"disabled": True}, "one": {"command": "sh"}})
    broken, off, usable = read_entries(tmp_path)
    assert (broken.starts(), broken.entry.command, off.entry.disabled) == ("", "", True)
    assert {"x", "tools/serve.py", "b.py"} <= set(broken.entry.args)
    assert usable.filled_in(PATH).command == "sh"


UNUSABLE: list[tuple[dict[str, Any], int, str]] = [
    ({"command": "sh", "args": ["a", "${NOT_SET}"]}, 7, "NOT_SET, which is not set"),
    ({"command": "${NOT_SET}"}, 4, "NOT_SET, which is not set"),
    ({"command": "sh", "env": {"A": "b", "KEY": "${NOT_SET}"}}, 7, "NOT_SET"),
    ({"url": "http://a", "headers": {"X": "${NOT_SET}"}}, 6, "NOT_SET"),
    ({"command": "sh", "args": ["${NOT-A-NAME}"]}, 6, "no variable"),
    ({"command": "no-such-program-here"}, 4, "not there"),
    ({"command": "./no-such-program"}, 4, "not there"),
    ({"command": "sh", "cwd": "nowhere"}, 5, "no folder"),
    ({"url": "ftp://a"}, 4, "no http address"),
    ({"url": "http://"}, 4, "no http address"),
]


@pytest.mark.parametrize(("fields", "line", "said"), UNUSABLE, ids=[case[2] for case in UNUSABLE])
def test_what_cannot_be_started_is_refused_with_its_line(
    tmp_path: Path, fields: dict[str, Any], line: int, said: str
) -> None:
    listed = only(tmp_path, **fields)
    with pytest.raises(SetupError) as refused:
        listed.filled_in(PATH)
    assert f"{tmp_path / '.mcp.json'}:{line}: " in refused.value.cause
    assert said in refused.value.cause


def test_a_server_named_twice_is_refused(tmp_path: Path) -> None:
    write(tmp_path, '{"mcpServers": {"one": {"command": "a"}, "one": {"command": "b"}}}')
    with pytest.raises(SetupError, match="`one` stands there twice"):
        read_entries(tmp_path)


def test_the_fingerprint_is_of_what_is_started(tmp_path: Path) -> None:
    first = only(tmp_path, command="sh", args=["a"]).fingerprint({})
    assert only(tmp_path, args=["a"], command="sh", autoApprove=["x"]).fingerprint({}) == first
    others: list[dict[str, Any]] = [
        {"command": "sh", "args": ["b"]},
        {"command": "bash", "args": ["a"]},
        {"command": "sh", "args": ["a"], "env": {"A": "1"}},
        {"command": "sh", "args": ["a"], "cwd": "x"},
    ]
    found = {only(tmp_path, **fields).fingerprint({}) for fields in others}
    assert len(found) == len(others)
    assert first not in found


def test_the_fingerprint_is_of_this_folder(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    here, there = (only(folder, command="sh") for folder in (tmp_path, tmp_path / "other"))
    assert here.fingerprint({}) != there.fingerprint({})
