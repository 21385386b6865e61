"""What file capabilities write: documents, and nothing that runs, decides, or belongs to something else."""

from __future__ import annotations

import json
import mailbox
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planwright.capabilities.builtin import documents, files
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.document_rules import check_document, check_name
from planwright.domain.errors import CapabilityForbidden, CapabilityRejected, PlanwrightError
from planwright.extras.demo.workspace import write_workspace

MakeWorld = Callable[..., CallContext]
AUTO_RUN = (Path(__file__).parent / "auto_run_files.txt").read_text("utf-8").split("\n")[:-1]
CONTENT = {"files.write": {"text": "mine now"}, "documents.create": {"text": "mine now"}}
BOTH = pytest.mark.parametrize("found", [files.write, documents.create], ids=lambda one: one.name)


def all_files(folder: Path) -> dict[str, bytes]:
    """Read every file of a workspace but those of the store."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in found if p.relative_to(folder).parts[0] != "store"
    }


def test_the_list_of_files_that_run_or_configure_is_long_and_has_none_twice() -> None:
    assert len(set(AUTO_RUN)) == len(AUTO_RUN) >= 200


@BOTH
async def test_no_file_that_runs_or_configures_is_written(
    make_bench: Callable[..., Any], tmp_path: Path, found: Capability
) -> None:
    bench = await make_bench(found)
    write_workspace(tmp_path)
    before = all_files(tmp_path)
    for path in AUTO_RUN:
        with pytest.raises(CapabilityRejected):
            await bench.call(found.name, path=path, **CONTENT[found.name])
    assert all_files(tmp_path) == before
    assert bench.effects() == []


@pytest.mark.sampled(15)
@pytest.mark.parametrize("path", [path for path in AUTO_RUN if not path.startswith(".git/")], ids=ascii)
def test_each_is_forbidden_before_a_person_is_asked(demo: CallContext, path: str) -> None:
    with pytest.raises(CapabilityForbidden) as refused:
        files.write.check({"path": path, "text": ""}, demo)
    assert refused.value.next_step


@pytest.mark.parametrize(
    ("path", "said", "next_step"),
    [
        ("package.json", "package.json is obeyed by npm", 'allow = ["package.json"]'),
        ("docs/agents.md", "obeyed by agents: instructions", 'allow = ["docs/agents.md"]'),
        ("notes.log", "notes.log is no document: those end in .txt .md", 'allow = ["notes.log"]'),
        ("notes", "notes is no document", 'allow = ["notes"]'),
        ("x.py", "a .py file is a program", "no setting allows it"),
        (".x/notes.md", "what begins with a dot is read by programs", "no setting allows it"),
        ("tickets.db", "the setting sources.tickets names it", "no setting allows it"),
        ("mail/x.md", "it is in a mailbox", "no setting allows it"),
    ],
)
def test_a_refusal_says_why_and_which_setting_lists_it(
    demo: CallContext, path: str, said: str, next_step: str
) -> None:
    with pytest.raises(CapabilityForbidden) as refused:
        check_document(path, demo)
    assert said in refused.value.cause
    assert next_step in refused.value.next_step


@pytest.mark.parametrize(
    "path",
    ["Makefile", "package.json", "logs/today.log", "deep/x.yaml", "AGENTS.md", "agents.MD", "logs/a b.LOG"],
)
def test_what_a_person_lists_is_written(make_world: MakeWorld, path: str) -> None:
    allow = ["Makefile", "package.json", "logs/*.log", "deep/x.yaml", "agents.md"]
    check_document(path, make_world(files={"allow": allow}))


@pytest.mark.parametrize("path", ["sub/Makefile", "logs/deep/today.log", "logs.log", "x/deep/x.yaml"])
def test_what_a_person_lists_is_that_path_and_no_other(make_world: MakeWorld, path: str) -> None:
    with pytest.raises(CapabilityForbidden):
        check_document(path, make_world(files={"allow": ["Makefile", "logs/*.log", "deep/x.yaml"]}))


@pytest.mark.parametrize("path", ["x.log", "X.LOG", "deep/x.log"])
def test_a_type_that_a_person_lists_is_written_and_the_rest_is_not(make_world: MakeWorld, path: str) -> None:
    world = make_world(files={"types": [".log"]})
    check_document(path, world)
    with pytest.raises(CapabilityForbidden, match=r"those end in \.log"):
        check_document("x.md", world)


@pytest.mark.parametrize("path", ["logs/x.log", "logs/.x.log", "logs/x.db-wal"])
def test_no_list_reaches_what_is_never_written(make_world: MakeWorld, tmp_path: Path, path: str) -> None:
    sources = {"databases": {"log": "logs/x.log"}}
    world = make_world(files={"types": [".log", ".db-wal"], "allow": ["logs/*.log"]}, sources=sources)
    with pytest.raises(CapabilityForbidden, match="is not written"):
        check_document(path, world)
    check_document("logs/y.log", world)


def a_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE t (x)")


def a_mailbox(path: Path) -> None:
    with closing(mailbox.mbox(path)) as box:
        box.add("Subject: x\n\ny\n")


def a_program(path: Path) -> None:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("make", "said"),
    [(a_database, "a database"), (a_mailbox, "a mailbox"), (a_program, "an executable file")],
)
@BOTH
def test_what_is_there_is_looked_at_again_in_front_of_the_write(
    demo: CallContext, tmp_path: Path, found: Capability, make: Callable[[Path], None], said: str
) -> None:
    args = {"path": "notes/x.md", **CONTENT[found.name]}
    found.check(args, demo)
    make(tmp_path / "notes" / "x.md")
    before = all_files(tmp_path)
    for do in (lambda: found.check(args, demo), lambda: found.function(**args, call=demo)):
        with pytest.raises(CapabilityForbidden, match=f"{said}.* is there"):
            do()
    assert all_files(tmp_path) == before


def test_a_letter_that_begins_with_from_is_no_mailbox(demo: CallContext, tmp_path: Path) -> None:
    (tmp_path / "notes" / "x.md").write_text("From the desk of Kim\n")
    check_document("notes/x.md", demo)


@pytest.mark.parametrize("path", ["box/x.md", "box/cur/x.md", "box/deep/x.md"])
def test_a_folder_that_looks_like_a_maildir_is_one(demo: CallContext, tmp_path: Path, path: str) -> None:
    mailbox.Maildir(tmp_path / "box")
    with pytest.raises(CapabilityForbidden, match="it is in a mailbox"):
        check_document(path, demo)


@pytest.mark.parametrize("path", ["lib/x.md", "lib/deep/x.md", "LIB/x.md"])
def test_nothing_is_written_into_an_environment_or_onto_the_import_path(
    demo: CallContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    check_document(path, demo)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "lib")])
    with pytest.raises(CapabilityForbidden, match="the import path names it"):
        check_document(path, demo)
    monkeypatch.undo()
    (tmp_path / path.partition("/")[0]).mkdir()
    (tmp_path / path.partition("/")[0] / "pyvenv.cfg").touch()
    with pytest.raises(CapabilityForbidden, match="virtual environment"):
        check_document(path, demo)


SERVER = {
    "command": "tools/start.txt",
    "args": ["--config=tools/config.md", "data/notes.json", "-m", "served.pages", "plain", "${PLACE}/x.csv"],
    "env": {"HINTS": "hints.md", "PLACES": "/usr/bin:more/a.txt"},
}


@pytest.mark.parametrize(
    "path",
    ["tools/start.txt", "tools/config.md", "TOOLS/config.md", "data/notes.json", "hints.md", "more/a.txt"]
    + ["place/x.csv", "run/here/x.md"],
)
def test_what_mcp_json_names_is_not_written(
    make_world: MakeWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setenv("PLACE", "place")
    world = make_world()
    check_document(path, world)
    (tmp_path / "run" / "here").mkdir(parents=True)
    inside = {"command": "sh", "cwd": "run/here"}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"one": SERVER, "two": inside}}))
    with pytest.raises(CapabilityForbidden, match=r"the server (one|two) in \.mcp\.json names it"):
        check_document(path, world)
    check_document("data/other.json", world)


def test_what_a_mistaken_entry_may_name_is_not_written(make_world: MakeWorld, tmp_path: Path) -> None:
    mistaken = {"comand": "tools/start.txt", "args": ["data/notes.json", 3]}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"one": mistaken}}))
    for path in ("tools/start.txt", "data/notes.json"):
        with pytest.raises(CapabilityForbidden, match=r"the server one in \.mcp\.json names it"):
            check_document(path, make_world())
    check_document("data/other.json", make_world())


def test_where_mcp_json_cannot_be_read_nothing_is_written(make_world: MakeWorld, tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").write_text("{")
    with pytest.raises(CapabilityForbidden, match=r"nobody can tell what \.mcp\.json starts"):
        check_document("x.md", make_world())


def test_every_file_that_settings_name_is_reserved_where_links_lead_too(
    make_world: MakeWorld, tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "agenda").symlink_to("real")
    world = make_world(
        sources={"calendar": "agenda", "databases": {"a": "data/a.txt", "b": str(tmp_path / "b.txt")}},
        mail={"ca_file": "certificates/ca.txt"},
        storage={"path": str(tmp_path / "kept")},
    )
    for path in ("real/x.md", "data/a.txt", "b.txt", "certificates/ca.txt", "kept/blobs/x.txt"):
        with pytest.raises(CapabilityForbidden, match="names it"):
            check_document(path, world)
    check_document("data/b.txt", world)


@pytest.mark.parametrize("path", ["{{steps.s1.output.path}}", "notes/{{steps.s1.output.name}}"])
def test_a_path_that_is_not_known_yet_is_checked_when_it_is(demo: CallContext, path: str) -> None:
    for found in (files.write, files.restore):
        found.check({"path": path, "text": "", "version": ""}, demo)
    with pytest.raises(CapabilityForbidden):
        files.write.function("notes/run.py", "", demo)


def test_a_second_name_of_a_file_is_not_written(demo: CallContext, tmp_path: Path) -> None:
    (tmp_path / "notes" / "x.md").hardlink_to(tmp_path / "notes" / "retro.md")
    with pytest.raises(PlanwrightError, match="hard link"):
        check_document("notes/x.md", demo)


def test_a_name_is_checked_without_what_stands_there(demo: CallContext, tmp_path: Path) -> None:
    a_database(tmp_path / "notes" / "x.md")
    check_name("notes/x.md", demo)
    with pytest.raises(CapabilityForbidden):
        check_name("notes/x.sh", demo)


@pytest.mark.parametrize("path", ["evals/ship.json", "EVALS/deep/x.md"])
def test_a_case_that_runs_are_measured_by_is_not_written(demo: CallContext, path: str) -> None:
    with pytest.raises(CapabilityForbidden, match="planwright eval run names it"):
        check_document(path, demo)
