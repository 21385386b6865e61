"""Effects in doubt at the command line: shown one by one, decided one by one, with exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from planwright.domain.doubt import FIND_OUT
from tests.cli.desk import Desk, Outcome, refusal
from tests.cli.typist import Typist
from tests.wire.conftest import Serve
from tests.wire.scripted_server import says
from tests.wire.test_refused_runs import desk_with

pytestmark = pytest.mark.enable_socket

WORK = Path(__file__).parents[1] / "scenarios" / "scenario_work.py"
REQUEST = "Post a and b"
EFFECTS = "SELECT status, code FROM effects ORDER BY rowid"


PLAN = {
    "goal": "Post a and b",
    "steps": [{"id": name, "capability": "work.post", "params": {"name": name}} for name in ("a", "b")],
}


def desk_in_doubt(workspace: Path, serve: Serve) -> Desk:
    """A workspace whose plan posts a, which happens, and b, which does not; no answer comes of either."""
    desk = desk_with(workspace, serve, "always", says(json.dumps(PLAN)), says("Posted."))
    shutil.copy(WORK, workspace)
    toml = workspace / "planwright.toml"
    never = toml.read_text().replace('depth = "plan"\n', 'plan = "never"\n')
    toml.write_text(f'{never}[capabilities]\nmodules = ["scenario_work"]\n')
    for lost in ("after-a", "before-b"):
        (workspace / f"lose-{lost}").touch()
    return desk


def posted(desk: Desk) -> list[str]:
    return (desk.folder / "done.log").read_text().splitlines()


def keys(desk: Desk) -> list[str]:
    return [str(row[0])[:12] for row in desk.rows("SELECT key FROM effects ORDER BY rowid")]


def asked(workspace: Path, serve: Serve) -> tuple[Desk, Outcome]:
    desk = desk_in_doubt(workspace, serve)
    outcome = desk.run("run", REQUEST)
    assert outcome.code == 3, outcome.printed
    return desk, outcome


def test_every_effect_is_shown_with_its_key_and_the_command_that_decides(
    workspace: Path, serve: Serve
) -> None:
    desk, outcome = asked(workspace, serve)
    first, second = keys(desk)
    shown = desk.run("show", str(desk.rows("SELECT run_id FROM runs")[0][0])).stdout
    for text in (outcome.stderr, shown):
        lines = [line.strip() for line in text.splitlines() if "; begun " in line]
        for line, (name, key) in zip(lines, (("a", first), ("b", second)), strict=True):
            assert f": name {name}; begun " in line
            assert line.endswith(f" UTC, key {key}")
        reasons = [line for line in text.splitlines() if line.startswith("why")]
        assert [reasons, text.count(FIND_OUT)] == [
            ["why        work.post broke off: ConnectionError: the line went dead"],
            1,
        ]
    assert f"--happened {first}" not in outcome.stderr
    assert "--happened KEY[=RESULT] --not-happened KEY" in outcome.stderr
    assert "approve" not in [line.split()[0] for line in outcome.stderr.splitlines() if line.split()]
    gate = str(desk.rows("SELECT gate_id FROM gates WHERE status = 'open'")[0][0])
    assert gate in desk.run("ls", "--waiting").stdout
    assert "2 in doubt" in desk.run("ls").stdout
    told = desk.run("show", "last", "--json").json["in_doubt"]
    assert [(doubt["key"][:12], doubt["find_out"]) for doubt in told] == [
        (first, FIND_OUT),
        (second, FIND_OUT),
    ]


def test_one_answer_for_both_is_refused_with_the_command(workspace: Path, serve: Serve) -> None:
    desk, _ = asked(workspace, serve)
    first, second = keys(desk)
    for args in (("approve",), ("respond", "--happened", first), ("respond", "--happened", "ffff")):
        refused = desk.run(*args)
        assert refused.code == 2
        assert second in refusal(refused) or "--happened KEY" in refused.stderr
    assert {row[0] for row in desk.rows(EFFECTS)} == {"in_doubt"}


def test_each_is_decided_and_the_run_goes_on(workspace: Path, serve: Serve) -> None:
    desk, _ = asked(workspace, serve)
    first, second = keys(desk)
    done = desk.run("respond", "--happened", f'{first}={{"text": "seen"}}', "--not-happened", second)
    assert (done.code, done.stdout) == (0, "Posted.\n")
    assert posted(desk) == ["a", "b"]
    assert desk.rows(EFFECTS) == [("done", ""), ("failed", "did_not_happen"), ("done", "")]
    assert desk.rows("SELECT result FROM effects ORDER BY rowid")[0] == ('{"text":"seen"}',)


@pytest.mark.long
def test_what_was_left_is_decided_after_the_end_of_its_run(workspace: Path, serve: Serve) -> None:
    desk, _ = asked(workspace, serve)
    first, second = keys(desk)
    (run,) = desk.rows("SELECT run_id FROM runs")[0]
    left = desk.run("reject")
    assert left.code == 5
    command = f"planwright respond {run} --happened KEY[=RESULT] --not-happened KEY"
    assert command in left.stderr
    assert command in desk.run("show", run).stdout
    assert posted(desk) == ["a"]
    assert desk.run("respond", run, "--happened", first).code == 2
    done = desk.run("respond", run, "--happened", first, "--not-happened", second)
    assert (done.code, "2 effects decided" in done.stdout) == (0, True)
    assert "decide" not in desk.run("show", run).stdout
    assert desk.rows(EFFECTS) == [("done", ""), ("failed", "did_not_happen")]
    assert desk.run("respond", run, "--happened", first).code == 2


def test_a_terminal_asks_for_one_after_the_other(workspace: Path, serve: Serve) -> None:
    desk = desk_in_doubt(workspace, serve)
    with Typist(desk.folder, "run", REQUEST) as typist:
        for wanted, typed in (
            ("1 of 2", "ok"),
            ("nothing is decided", "seen at the receiver"),
            ("2 of 2", "n"),
        ):
            typist.read_until(wanted)
            typist.type(f"{typed}\n")
        code, _ = typist.finish()
    assert code == 0, typist.screen
    assert posted(desk) == ["a", "b"]
    assert desk.rows(EFFECTS) == [("done", ""), ("failed", "did_not_happen"), ("done", "")]
