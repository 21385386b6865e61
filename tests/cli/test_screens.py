"""Real screens: cards and runs at 80×24 and 120×40, and what is sent where nothing can be drawn."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from planwright.cli.views.call_card import call_view
from planwright.cli.views.plan_card import plan_view
from tests.cli.conftest import Waiting
from tests.cli.desk import Desk
from tests.cli.picture import colours, picture
from tests.cli.typist import Typist
from tests.wire.scripted_server import ScriptedServer, hangs, says

pytestmark = pytest.mark.long

SIZES = [(80, 24), (120, 40)]
TEXT = (
    "Buy 40 bags of 有機肥料 at EUR 12.50 each 🎉 before friday, "
    "call Noa נועה about the greenhouse roof, and wipe nothing that is not on the list of things to wipe"
)
REQUEST = f'Save "{TEXT}" to note.md'
PROMPT = "or n and why: "
HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


def squeezed(rows: list[str]) -> str:
    """Join rows without their whitespace, so that it does not matter where they are broken."""
    return re.sub(r"\s", "", "".join(rows))


def card(size: tuple[int, int], view: Any) -> list[str]:
    screen = io.StringIO()
    Console(file=screen, width=size[0], height=size[1], highlight=False).print(view)
    return screen.getvalue().splitlines()


def plan_of(steps: int, text: str) -> dict[str, Any]:
    """Write the card of a long plan whose every step is risky."""
    step = {"capability": "mail.send", "description": "", "risk": "High", "mode": "network", "own_gate": True}
    args = {"to": "noa@example.com", "text": text}
    listed = [{**step, "id": f"s{n}", "params": {**args, "n": n}, "after": []} for n in range(1, steps + 1)]
    return {"goal": "Write to everybody", "risk": "High", "steps": listed, "changes": []}


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(
    "text", [TEXT * 3, "x" * 1000, "長" * 300, "🎉" * 200, "שלום " * 90], ids=lambda t: t[:3]
)
def test_a_plan_higher_than_the_screen_is_shown_whole(size: tuple[int, int], text: str) -> None:
    rows = card(size, plan_view(plan_of(20, text)))
    assert len(rows) > size[1]
    assert max(map(cell_len, rows)) <= size[0]
    assert "…" not in "".join(rows)
    assert squeezed(rows).count(squeezed([text])) == 20
    heads = [row for row in rows if re.match(r"  s\d+ +mail\.send: to noa@example\.com", row)]
    assert [row.split()[0] for row in heads] == [f"s{n}" for n in range(1, 21)]
    assert sum("mail.send · network · High risk · own gate" in row for row in rows) == 20


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_step_with_long_names_is_wrapped_and_stays_one_step(size: tuple[int, int]) -> None:
    plan = plan_of(2, "hello")
    plan["steps"][1] |= {"id": "a" * 64, "capability": f"{'b' * 30}.{'c' * 30}", "after": ["s1", "d" * 64]}
    rows = card(size, plan_view(plan))
    for name in ("a" * 64, f"{'b' * 30}.{'c' * 30}", 'afterstep"' + "d" * 64, "network·Highrisk", "owngate"):
        assert name in squeezed(rows)
    assert len([row for row in rows if re.match(r"  \S", row)]) == 2


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_card_of_a_call_is_shown_whole(size: tuple[int, int]) -> None:
    about = {"capability": "mail.send", "description": "Send a mail.", "reason": "r", "mode": "network"}
    shown = {**about, "risk": "High", "effect": "blind", "args": {"text": TEXT * 9 + "\u202e\x1b[2K"}}
    rows = card(size, call_view(shown))
    assert max(map(cell_len, rows)) <= size[0]
    assert squeezed([TEXT * 9 + r"\u202e\x1b[2K"]) in squeezed(rows)


def test_a_plan_tells_how_many_calls_it_takes() -> None:
    plan = plan_of(3, "hello")
    plan["steps"][0]["mode"] = "read_only"
    plan["steps"][1] |= {"capability": "agent", "description": "Find out who is there"}
    rows = card(SIZES[0], plan_view(plan))
    told = "estimate 2 calls (1 reading, 1 changing or sending something), 1 step left to a model with tools"
    assert squeezed([told]) in squeezed(rows)
    assert any("task: Find out who is there" in row for row in rows)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_run_is_asked_about_and_watched_without_a_cut(desk: Desk, size: tuple[int, int]) -> None:
    with Typist(desk.folder, "run", REQUEST, size=size) as typist:
        typist.read_until(PROMPT)
        asked = picture(typist.screen)
        typist.type("y\n")
        code, _ = typist.finish()
    rows = picture(typist.screen)
    assert code == 0
    assert max(map(cell_len, rows)) <= size[0]
    assert squeezed([TEXT]) in squeezed(asked)
    assert re.search(r"  s1 +Write a text into a file of the workspace", "\n".join(asked))
    assert any("files.write · local_write · Medium risk" in row for row in asked)
    (done,) = (n for n, row in enumerate(rows) if re.match(r"  ✓ s1 +files\.write", row))
    assert squeezed([TEXT]) in squeezed(rows[done : done + 6])
    assert [row for row in rows if "▶" in row or "◷" in row] == []
    assert any(row.startswith("status     completed · planwright show ") for row in rows[done:])
    assert (desk.folder / "note.md").read_text("utf-8") == TEXT


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_an_approval_is_watched_and_leaves_the_terminal_as_it_was(
    desk: Desk, waiting: Waiting, size: tuple[int, int]
) -> None:
    with Typist(desk.folder, "approve", waiting.gate_id, size=size) as typist:
        code, _ = typist.finish()
    assert code == 0
    assert any(
        re.match(r"  ✓ \S+ +files\.write .*path: note\.md, text: hello  → bytes 5$", row)
        for row in picture(typist.screen)
    )
    assert 0 <= typist.screen.rfind(HIDE) < typist.screen.rfind(SHOW)


def test_resuming_at_a_gate_shows_what_is_asked_about(desk: Desk, waiting: Waiting) -> None:
    with Typist(desk.folder, "resume", waiting.thread_id, size=(80, 24)) as typist:
        typist.read_until(PROMPT)
        typist.type("n\n")
        typist.finish()
    rows = picture(typist.screen)
    (shown,) = (n for n, row in enumerate(rows) if "note.md, text hello" in row)
    assert shown < next(n for n, row in enumerate(rows) if PROMPT in row)


@pytest.mark.parametrize("command", ["run", "approve"])
def test_no_color_keeps_the_layout_and_sends_no_colour(desk: Desk, waiting: Waiting, command: str) -> None:
    given = ("run", "What tickets are open?") if command == "run" else ("approve", waiting.gate_id)
    with Typist(desk.folder, *given, size=(80, 24), env={"NO_COLOR": "1"}) as typist:
        code, _ = typist.finish()
    assert code == 0
    assert HIDE in typist.screen
    assert colours(typist.screen) == []


def test_colours_are_sent_where_nobody_minds(desk: Desk) -> None:
    with Typist(desk.folder, "run", "What tickets are open?", size=(80, 24)) as typist:
        typist.finish()
    assert colours(typist.screen) != []


@pytest.mark.parametrize("command", ["run", "approve"])
def test_a_dumb_terminal_gets_plain_lines(desk: Desk, waiting: Waiting, command: str) -> None:
    given = ("run", "What tickets are open?") if command == "run" else ("approve", waiting.gate_id)
    with Typist(desk.folder, *given, size=(80, 24), env={"TERM": "dumb"}) as typist:
        code, _ = typist.finish()
    assert code == 0
    assert "\x1b" not in typist.screen
    assert re.search(r"  ✓ \S+ +\S+ +done in [\d.]+ s: ", typist.screen)


def test_a_run_is_quiet_and_tells_all_when_that_is_wanted(desk: Desk) -> None:
    quiet = desk.run("run", "What tickets are open?")
    labels = [line.split()[0] for line in quiet.stderr.splitlines() if line[0] != " "]
    assert labels == ["plan", "estimate", "risk", "status"]
    told = desk.run("run", "-v", "What tickets are open?")
    labels = [line.split()[0] for line in told.stderr.splitlines() if line[0] != " "]
    assert labels == ["planning", "model", "plan", "estimate", "risk", "verified", "verdict", "status"]
    assert quiet.stdout == told.stdout
    assert "token" not in quiet.printed + told.printed


@pytest.mark.parametrize("text", ["x" * 301, "x" * 300])
def test_only_what_a_step_reads_is_cut_and_how_much_is_said(text: str) -> None:
    plan = plan_of(2, text)
    plan["steps"][0] |= {"mode": "read_only", "risk": "None"}
    rows = squeezed(card(SIZES[0], plan_view(plan)))
    assert rows.count(text) == (1 if len(text) > 300 else 2)
    assert ("…(301characters;-vshowsall)" in rows) is (len(text) > 300)
    assert squeezed(card(SIZES[0], plan_view(plan, whole=True))).count(text) == 2


@pytest.mark.parametrize("command", ["run", "approve"])
def test_a_pipe_gets_plain_lines(desk: Desk, waiting: Waiting, command: str) -> None:
    given = ("run", "What tickets are open?") if command == "run" else ("approve", waiting.gate_id)
    done = desk.run(*given)
    assert done.code == 0
    assert "\x1b" not in done.printed
    assert re.search(r"✓ \S+ +\S+ +done in", done.stderr)


@pytest.mark.enable_socket
def test_the_answer_of_a_model_is_seen_while_it_comes_and_stays_once(desk: Desk) -> None:
    plan = {"goal": "List the tickets", "steps": [{"id": "s1", "capability": "tickets.list", "params": {}}]}
    with ScriptedServer(
        [says(json.dumps(plan)), says("Four tickets are open right now.", pace_s=0.3)]
    ) as server:
        local = f'[providers.local]\nbase_url = "{server.base_url}"\napi_key = "k"\nmodel = "m"\n'
        desk.settings(f'{local}[planning]\nmode = "always"\n')
        with Typist(desk.folder, "run", "What tickets are open?", size=(80, 24)) as typist:
            typist.read_until("Four tickets")
            assert "now." not in typist.screen
            code, _ = typist.finish()
    rows = picture(typist.screen)
    assert code == 0
    assert [row for row in rows if "Four tickets" in row] == ["  Four tickets are open right now."]
    assert "depends_on" not in typist.screen
    assert '"steps"' not in typist.screen


@pytest.mark.enable_socket
def test_ctrl_c_gives_the_terminal_back_and_says_how_to_go_on(desk: Desk) -> None:
    with ScriptedServer([hangs()]) as server:
        host = server.base_url.split("/")[2]
        desk.settings(f'[channels.team]\nurl = "http://{host}/hook"\n[egress]\nallow = ["{host}"]\n')
        with Typist(desk.folder, "run", "Send hello to the team channel", size=(80, 24)) as typist:
            typist.read_until(PROMPT)
            typist.type("y\n")
            typist.read_until("▶")
            typist.interrupt()
            code, _ = typist.finish()
    rows = picture(typist.screen)
    assert code == 130
    assert typist.screen.rfind(HIDE) < typist.screen.rfind(SHOW)
    assert any(re.match(r"  ▶ \S+ +channel\.post", row) for row in rows)
    assert any("planwright resume" in row for row in rows)
    assert "Traceback" not in typist.screen


def test_what_was_typed_before_the_question_answers_nothing(desk: Desk) -> None:
    with Typist(desk.folder, "run", REQUEST, size=SIZES[0]) as typist:
        typist.type("y\n")
        typist.read_until(PROMPT)
        typist.type("n\n")
        code, _ = typist.finish()
    assert code == 4
    assert not (desk.folder / "note.md").exists()
