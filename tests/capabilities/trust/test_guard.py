"""A folder that somebody else wrote: nothing of it counts before a person trusts it."""

from __future__ import annotations

import re
import shlex
import shutil
import sqlite3
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from types import FrameType

import pytest

from planwright.capabilities.trust.guard import (
    FolderUntrusted,
    load_trusted,
    refuse_untrusted,
    trust_folder,
    untrusted_things,
)
from planwright.domain.errors import SetupError
from planwright.graph.building import build_graph, open_agent
from planwright.records.consent.allow_rules import AllowRules
from planwright.records.consent.delegations import Delegations, Period, Reach
from planwright.settings.settings import Settings, load
from planwright.store.folder_trust import FolderTrust, trust_below
from tests.house import rooms

NOW = datetime(2031, 5, 1, 12, tzinfo=UTC)
MODULE = """
from pathlib import Path
from planwright.capabilities import capability

Path(__file__).with_name("ran").touch()

@capability("brought.one", mode="read_only", effect="pure", trusted_result=True)
def one(text: str) -> str:
    "One."
    return text
"""
LESS_OF_ROOT = ("setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override")
"""Begins a process of root that may write only where its user may."""
RULE = (
    '{"id":"allow_1","capability":"files.write","args":{},"max_risk":"High","scope":"always",'
    '"tenant":"default","run_id":"r","thread_id":"t","given_by":"eve","given_at":"2026-01-01","code":"c"}\n'
)


@pytest.fixture
def theirs(tmp_path: Path, other_machine: Path) -> Path:
    """A folder with a module of its own, from elsewhere."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "planwright.toml").write_text('[capabilities]\nmodules = ["brought"]\n', "utf-8")
    (folder / "brought.py").write_text(MODULE, "utf-8")
    return folder


def names(folder: Path) -> list[str]:
    """Name what waits for trust in a folder."""
    return [thing.name for things in untrusted_things(load(folder)).values() for thing in things]


def test_a_program_is_refused_and_runs_nothing_of_it(theirs: Path) -> None:
    with pytest.raises(FolderUntrusted, match=r"brought\.py"):
        open_agent(theirs)
    with pytest.raises(FolderUntrusted, match=r"brought\.py"):
        build_graph(load(theirs))
    assert not (theirs / "ran").exists()


def test_a_program_can_say_that_it_trusts_the_folder(theirs: Path) -> None:
    open_agent(theirs, trusted=True).close()
    assert (theirs / "ran").exists()
    open_agent(theirs).close()


def test_a_changed_module_asks_again_and_other_files_do_not(theirs: Path) -> None:
    trust_folder(load(theirs), "ada")
    (theirs / "notes.md").write_text("x", "utf-8")
    (theirs / "planwright.toml").write_text(
        '[planning]\nmode = "always"\n[capabilities]\nmodules = ["brought"]\n', "utf-8"
    )
    load_trusted(theirs)
    (theirs / "brought.py").write_text(MODULE + "\n", "utf-8")
    assert names(theirs) == ["brought.py"]


def test_what_a_module_imports_from_beside_it_is_asked_for_too(theirs: Path) -> None:
    (theirs / "brought.py").write_text("import beside, pkg.inner\n" + MODULE, "utf-8")
    (theirs / "pkg").mkdir()
    for name in ("beside.py", "pkg/__init__.py", "pkg/inner.py"):
        (theirs / name).write_text("", "utf-8")
    trust_folder(load(theirs), "ada")
    for name in ("beside.py", "pkg/inner.py"):
        (theirs / name).write_text("x = 1", "utf-8")
    assert sorted(names(theirs)) == ["beside.py", "pkg/inner.py"]


@pytest.mark.parametrize("kind", ["package", "folder"])
def test_what_a_package_reaches_by_a_link_is_asked_for_too(theirs: Path, kind: str) -> None:
    (theirs / "brought.py").write_text("import pkg.sub.inner.part\n" + MODULE, "utf-8")
    parts = ("other/inner/part.py", *(("pkg/__init__.py",) if kind == "package" else ()))
    for name in parts:
        (theirs / name).parent.mkdir(parents=True, exist_ok=True)
        (theirs / name).write_text("import beside", "utf-8")
    (theirs / "beside.py").write_text("", "utf-8")
    (theirs / "pkg").mkdir(exist_ok=True)
    (theirs / "pkg/sub").symlink_to("../other")
    (theirs / "pkg/again").symlink_to(".")
    trust_folder(load(theirs), "ada")
    for name in ("other/inner/part.py", "beside.py"):
        (theirs / name).write_text("import beside, sys", "utf-8")
    assert sorted(names(theirs)) == ["beside.py", "pkg/sub/inner/part.py"]


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("mail", "sources.mail (link)"),
        ("tickets.db", "sources.tickets (link)"),
        ("calendar", "sources.calendar (link)"),
        (".planwright", "storage.path (link)"),
    ],
)
def test_a_link_at_a_usual_place_that_leads_out_of_the_folder_is_asked_for(
    tmp_path: Path, other_machine: Path, place: str, name: str
) -> None:
    for folder in ("theirs", "private", "more"):
        (tmp_path / folder).mkdir()
    theirs = tmp_path / "theirs"
    (theirs / place).symlink_to("../private")
    assert names(theirs) == [name]
    trust_folder(load(theirs), "ada")
    assert names(theirs) == []
    (theirs / place).unlink()
    (theirs / place).symlink_to("../more")
    assert names(theirs) == [name]
    (theirs / place).unlink()
    (theirs / "inner").mkdir()
    (theirs / place).symlink_to("inner")
    assert names(theirs) == []


def test_moving_and_copying_ask_again(theirs: Path, tmp_path: Path) -> None:
    trust_folder(load(theirs), "ada")
    shutil.copytree(theirs, tmp_path / "copy")
    assert names(tmp_path / "copy") == ["capabilities.modules", "brought.py"]
    theirs.rename(tmp_path / "moved")
    assert names(tmp_path / "moved") == ["capabilities.modules", "brought.py"]
    (tmp_path / "moved").rename(theirs)
    assert names(theirs) == []


def test_another_way_to_the_same_folder_is_the_same_folder(theirs: Path, tmp_path: Path) -> None:
    trust_folder(load(theirs), "ada")
    (tmp_path / "link").symlink_to(theirs)
    assert names(tmp_path / "link") == []


def test_what_is_taken_out_asks_nobody(theirs: Path) -> None:
    trust_folder(load(theirs), "ada")
    (theirs / "planwright.toml").unlink()
    assert names(theirs) == []


@pytest.mark.parametrize("by", ["a setting", "a link"])
def test_a_store_in_the_folder_itself_hides_nothing_of_what_it_brings(theirs: Path, by: str) -> None:
    if by == "a setting":
        with (theirs / "planwright.toml").open("a", encoding="utf-8") as file:
            file.write('[storage]\npath = "."\n')
    else:
        (theirs / ".planwright").symlink_to(".")
    (theirs / "policy.toml").write_text('[[rule]]\ndecide = "allow"\n', "utf-8")
    assert {"capabilities.modules", "brought.py", "policy.toml"} <= set(names(theirs))
    with pytest.raises(FolderUntrusted):
        open_agent(theirs)
    assert not (theirs / "ran").exists()


@pytest.mark.parametrize("name", ["policy.toml", "decisions/one.toml"])
def test_what_says_what_may_be_done_is_asked_for(tmp_path: Path, other_machine: Path, name: str) -> None:
    path = tmp_path / "f" / name
    path.parent.mkdir(parents=True)
    path.write_text('[[rule]]\ndecide = "allow"\n', "utf-8")
    assert names(tmp_path / "f") == [name]


def test_the_file_of_the_command_of_the_audit_chain_is_asked_for(
    theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (theirs / "anchor.py").write_text("0", "utf-8")
    command = f'command = ["{sys.executable}", "{theirs}/anchor.py"]'
    (theirs / "planwright.toml").write_text(f"[audit]\n{command}\n", "utf-8")
    assert names(theirs) == ["audit.command", "anchor.py"]
    trust_folder(load(theirs), "ada")
    (theirs / "anchor.py").write_text("1", "utf-8")
    assert names(theirs) == ["anchor.py"]


def test_a_store_of_this_machine_is_asked_for_nowhere_and_its_copy_everywhere(
    tmp_path: Path, other_machine: Path
) -> None:
    ours = tmp_path / "ours"
    with open_agent(ours) as agent:
        agent.stores.database.call("begin", lambda c: None)
    open_agent(ours).close()
    assert names(ours) == []
    shutil.copytree(ours, tmp_path / "theirs")
    assert names(tmp_path / "theirs") == ["planwright.db", "fence.key"]
    with pytest.raises(FolderUntrusted, match=r"planwright\.db"):
        open_agent(tmp_path / "theirs")
    open_agent(tmp_path / "theirs", trusted=True).close()


def test_a_database_that_is_only_just_begun_asks_nobody(tmp_path: Path, other_machine: Path) -> None:
    (tmp_path / ".planwright").mkdir()
    (tmp_path / ".planwright/planwright.db").touch()
    assert names(tmp_path) == []


def test_another_database_in_the_place_of_ours_is_asked_for(tmp_path: Path, other_machine: Path) -> None:
    for name in ("ours", "theirs"):
        with open_agent(tmp_path / name) as agent:
            agent.stores.database.call("begin", lambda c: None)
    shutil.copy(tmp_path / "theirs/.planwright/planwright.db", tmp_path / "ours/.planwright/planwright.db")
    assert names(tmp_path / "ours") == ["planwright.db"]


@pytest.mark.parametrize(
    "made",
    [
        "CREATE TRIGGER approves AFTER INSERT ON gates BEGIN UPDATE gates SET status = 'approved'; END",
        "CREATE VIEW more AS SELECT * FROM gates",
    ],
)
def test_what_a_store_does_by_itself_and_is_not_ours_is_refused_though_it_is_trusted(
    tmp_path: Path, other_machine: Path, made: str
) -> None:
    with open_agent(tmp_path) as agent:
        agent.stores.database.call("begin", lambda c: None)
    with closing(sqlite3.connect(tmp_path / ".planwright/planwright.db")) as connection, connection:
        connection.execute(made)
    trust_folder(load(tmp_path), "ada")
    with open_agent(tmp_path) as agent, pytest.raises(SetupError, match="trigger or view") as refused:
        agent.invoke({"messages": "hello"}, {"configurable": {"thread_id": "t"}})
    assert refused.value.next_step.startswith("drop it")


def test_a_rule_of_a_stranger_opens_no_gate_and_one_of_ours_does(tmp_path: Path, other_machine: Path) -> None:
    store = tmp_path / ".planwright"
    store.mkdir()
    (store / "allow.jsonl").write_text(RULE, "utf-8")
    assert names(tmp_path) == ["allow.jsonl"]
    with pytest.raises(SetupError, match="nobody trusts"):
        AllowRules(store).read()
    trust_folder(load(tmp_path), "ada")
    assert [rule.id for rule in AllowRules(store).read()] == ["allow_1"]
    (store / "allow.jsonl").write_text(RULE + RULE.replace("allow_1", "allow_2"), "utf-8")
    with pytest.raises(SetupError, match="nobody trusts"):
        AllowRules(store).revoke("allow_2")
    trust_folder(load(tmp_path), "ada")
    AllowRules(store).revoke("allow_2")
    assert names(tmp_path) == []


def test_a_file_that_another_process_of_ours_just_writes_is_no_strangers(
    tmp_path: Path, other_machine: Path
) -> None:
    period = Period(NOW, NOW + timedelta(hours=1))

    def issue() -> None:
        for number in range(100):
            Delegations(tmp_path / ".planwright").issue(Reach([f"a.b{number}"]), "High", "ada", period)

    (tmp_path / ".planwright").mkdir(0o700)
    settings, writer = load(tmp_path), Thread(target=issue)
    writer.start()
    while writer.is_alive():
        refuse_untrusted(settings)
    writer.join()
    assert len(Delegations(tmp_path / ".planwright").read()) == 100


def test_a_store_that_is_open_to_others_is_looked_at_and_left_as_it_is(
    tmp_path: Path, other_machine: Path
) -> None:
    store = tmp_path / ".planwright"
    store.mkdir()
    store.chmod(0o755)
    (store / "allow.jsonl").write_text(RULE, "utf-8")
    with pytest.raises(FolderUntrusted):
        load_trusted(tmp_path)
    assert store.stat().st_mode & 0o777 == 0o755


def test_what_is_trusted_is_read_once_however_much_there_is(theirs: Path) -> None:
    (theirs / "decisions").mkdir()
    for number in range(20):
        (theirs / f"decisions/{number}.toml").write_text("", "utf-8")
    trust_folder(load(theirs), "ada")
    reads = []

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is FolderTrust.read.__code__:
            reads.append(frame)

    settings = load(theirs)
    sys.setprofile(profile)
    try:
        refuse_untrusted(settings)
    finally:
        sys.setprofile(None)
    assert len(reads) == 2  # of the folder, and of its store


def test_a_fence_that_cannot_be_trusted_is_not_left_behind(tmp_path: Path, other_machine: Path) -> None:
    (tmp_path / ".planwright").mkdir()
    other_machine.parent.write_text("no folder", "utf-8")
    open_agent(tmp_path).close()
    assert names(tmp_path) == []
    assert not (tmp_path / ".planwright/fence.key").exists()


def test_the_next_step_can_be_typed_whatever_the_folder_is_called(theirs: Path) -> None:
    odd = theirs.rename(theirs.with_name("a b; touch c"))
    with pytest.raises(FolderUntrusted) as refused:
        load_trusted(odd)
    assert shlex.split(refused.value.next_step.partition(": ")[2]) == ["planwright", "trust", "-w", str(odd)]


def test_what_lies_in_a_folder_of_ones_own_asks_nobody_whatever_it_holds(theirs: Path) -> None:
    trust_below(theirs.parent)
    load_trusted(theirs)
    (theirs / "brought.py").write_text(MODULE + "\n", "utf-8")
    load_trusted(theirs)
    assert FolderTrust(theirs).read() == {}


def test_settings_given_in_code_say_nothing_of_what_the_folder_brings(theirs: Path) -> None:
    (theirs / "policy.toml").write_text('[[rule]]\ndecide = "allow"\n', "utf-8")
    with pytest.raises(FolderUntrusted):
        build_graph(Settings(workspace=theirs))


def test_what_was_compiled_of_a_module_before_is_not_run(theirs: Path) -> None:
    import importlib.util
    import py_compile

    wicked = theirs / "wicked.py"
    wicked.write_text(MODULE.replace('"ran"', '"compiled_ran"'), "utf-8")
    compiled = importlib.util.cache_from_source(str(theirs / "brought.py"))
    py_compile.compile(
        str(wicked), compiled, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH, doraise=True
    )
    wicked.unlink()
    open_agent(theirs, trusted=True).close()
    assert sorted(path.name for path in theirs.glob("*ran")) == ["ran"]


def test_only_those_that_ask_for_trust_or_write_the_file_read_settings_without_it() -> None:
    reads = re.compile(r"from planwright\.settings\.settings import .*\bload\b")
    found = {module for module, path in rooms.SOURCES.items() if reads.search(path.read_text("utf-8"))}
    asks = {"capabilities.trust.guard", "cli.views.trust_views", "graph.building"}
    writes = {"cli.actions.agent_table", "extras.demo.demo_command", "cli.actions.new_workspace"}
    hides_secrets_of_an_error = {"cli.refusal"}
    assert found == asks | writes | hides_secrets_of_an_error
