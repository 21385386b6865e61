"""What every command prints into a pipe: whole lines, with nothing at their ends that only a window needs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from planwright.cli.main import app
from tests.cli.desk import Desk, Outcome

JOB = "List the markdown files in notes, then summarize roadmap.md and save the summary to summary.md"
SETTINGS = """
approval.depth = "plan"
capabilities.modules = ["pay"]
agents.reader.tools = ["files.read"]
channels.team.url = "http://127.0.0.1:1/"
egress.allow = ["127.0.0.1:1"]
"""
PAY = '''
from planwright.capabilities.declaration import capability

@capability("pay.refund", mode="delegated", effect="idempotent", destinations=("order",))
def refund(order: str) -> str:
    """Pay an order back."""
    return order
'''
SERVERS = {"mcpServers": {"notes": {"command": "true"}}}
PLACES = {
    "PROPOSAL": "SELECT id FROM proposals ORDER BY rowid DESC",
    "MEMORY": "SELECT id FROM memories",
    "DONE": f"SELECT thread_id FROM runs WHERE request = '{JOB}' AND status = 'completed'",
}
"""Words of a line that stand for what the store has by then."""
LISTS = {"RULE": "rules", "DELEGATION": "delegations"}
"""Words that stand for the only entry of what `COMMAND ls` lists."""
# In this order, each with its exit code where that is not 0.
STORY = f"""
init ../own
trust
config
capabilities
capabilities channel.post
agents ls
agents show reader
agents edit reader                             # 2
mcp ls
mcp trust --yes
mcp ls notes                                   # 1
mcp revoke notes
doctor                                         # 1
doctor --probe
policy check
policy explain channel.post
db check
db accept
db tables
plan "{JOB}"
run "{JOB}"                                    # 3
ls --waiting
show last
edit --print
edit                                           # 2
approve -v
run "Post hello to the team channel"           # 3
reject --reason "not now"                      # 4
run 'Write "ship" to todo.txt'                 # 3
cancel last
run "Draft a mail to Jo saying hello there"    # 3
respond "What tickets are open?"
call pay.refund --order 7                      # 3
approve                                        # 3
approve --remember always
rules ls
rules revoke RULE
call tickets.list
chat                                           # 2
ls
show DONE
events DONE
checkpoints DONE
undo DONE --look
undo DONE                                      # 3
reject                                         # 4
fork DONE --rerun s3                           # 3
reject                                         # 4
resume DONE
replay DONE
diff DONE last                                 # 1
tune
usage
eval
eval add DONE job
eval run
delegations issue pay.*
delegations ls
delegations revoke DELEGATION
run "I prefer metric units. What time is it?"  # 1
memory proposals
memory accept PROPOSAL
memory ls
memory forget MEMORY
run "I prefer short answers. What time is it?" # 1
memory reject PROPOSAL
run --background "What time is it?"
sessions ls
sessions show last
sessions pause last
sessions extend last --tokens 500
extend last --tool-calls 5
sessions resume last
worker --until-idle
sessions watch last
run --background "What day is it?"
sessions cancel last
db query "SELECT * FROM runs"
db query "SELECT type, hash, value FROM contents LIMIT 20"
db export runs runs.csv
db check
db accept
db prune
db vacuum
db backup ../kept
db restore ../kept
db migrate --to nowhere                        # 2
audit verify
audit export chain.jsonl
demo --folder ../demo
"""
SERVING = {
    "web": "it serves a page until it is stopped; the line that it prints is tests/extras/web's",
    "studio": "it serves until it is stopped; tests/examples/test_server.py plays it",
}


def paths(command: Any, name: tuple[str, ...] = ()) -> Iterator[str]:
    """List the commands of the program by their names."""
    for word, other in getattr(command, "commands", {}).items():
        yield from paths(other, (*name, word))
    if name and (not getattr(command, "commands", {}) or command.invoke_without_command):
        yield " ".join(name)


COMMANDS = tuple(paths(typer.main.get_command(app)))


def padded(text: str) -> list[str]:
    """List the lines that end with spaces."""
    return [line for line in text.splitlines() if line.endswith(" ")]


def lines() -> Iterator[tuple[list[str], int]]:
    """List the lines of the story, each with its exit code."""
    for line in STORY.strip().splitlines():
        command, _, code = line.partition(" # ")
        yield shlex.split(command), int(code or 0)


def played(desk: Desk, words: list[str]) -> Outcome:
    """Play a line, with ids in the place of the words that stand for them."""
    given = []
    for word in words:
        if word in PLACES:
            word = desk.rows(PLACES[word])[0][0]
        elif word in LISTS:
            (entry,) = desk.run(LISTS[word], "ls", "--json").json
            word = entry["id"]
        given.append(word)
    return desk.run(*given)


def test_every_command_is_in_the_story() -> None:
    told = {name for words, _ in lines() for name in (words[0], " ".join(words[:2])) if name in COMMANDS}
    assert told | set(SERVING) == set(COMMANDS)


@pytest.mark.long
@pytest.mark.sqlite
def test_no_line_of_any_command_is_padded_in_a_pipe(desk: Desk) -> None:
    desk.settings(SETTINGS)
    (desk.folder / "pay.py").write_text(PAY, "utf-8")
    (desk.folder / ".mcp.json").write_text(json.dumps(SERVERS), "utf-8")
    wrong = []
    for words, code in lines():
        done = played(desk, words)
        if done.code != code:
            wrong.append(f"{words} ended with {done.code}: {done.printed}")
        wrong += [f"{words} printed {line[:100]!r}…, {len(line)} cells" for line in padded(done.printed)]
    assert wrong == []


def test_no_line_of_any_help_is_padded() -> None:
    helps = {command: CliRunner().invoke(app, [*command.split(), "--help"]) for command in COMMANDS}
    assert [command for command, done in helps.items() if done.exit_code or padded(done.output)] == []
