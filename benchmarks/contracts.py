"""Twelve kinds of servers that refuse what the real ones refuse, in every shape of a run: `contracts`.

A run has to end with the answer of the model behind the server, and what a server sent to be given back has
to come back to it word for word, and to nobody else.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.contract_answer import SECTIONS
from benchmarks.contract_anthropic import Anthropic
from benchmarks.contract_families import CHAT
from benchmarks.contract_model import ANSWER, TURNS, thoughts_of
from benchmarks.contract_responses import Responses
from benchmarks.contract_server import Family, StrictServer
from planwright.extras.demo.workspace import write_workspace
from planwright.graph.building import build_graph
from planwright.settings.settings import load

FAMILIES: Sequence[type[Family]] = (*CHAT, Responses, Anthropic)
CASES = ("loop", "parallel", "gate", "plan", "failover", "compaction")
RESULTS = Path("contracts.json")
PATIENCE_S = 120


@dataclass(frozen=True)
class Cell:
    """One kind of server in one shape of a run."""

    family: str
    """Kind of server that is asked first."""
    case: str
    """Shape of the run."""
    streams: bool
    """Whether replies are streamed."""
    then: str
    """Kind of server that takes over; "" in all cases but `failover`."""
    right: bool
    """Whether the run ended as it has to."""
    refusals: int
    """Requests that were refused on the way: each was sent again in a form that the server takes."""
    detail: str = ""
    """What was wrong."""


def play(
    kind: type[Family], case: str, folder: Path, *, streams: bool, then: type[Family] | None = None
) -> Cell:
    """Play one cell in a workspace."""
    families = [each() for each in (kind, then) if each]
    with StrictServer(families) as server:
        if case == "compaction":
            server.crowded.add(kind.name)
        if then:
            server.away[kind.name] = 2
        status, answer = _run(folder, _settings(server, families, streams=streams), case)
        wrong = [f"{status}: {answer}"[:300]] if (status, answer.strip()) != ("completed", ANSWER) else []
        wrong += [note for family in families for note in family.altered]
        if then and thoughts_of(kind.name) in json.dumps(server.served(then.name)):
            wrong.append(f"{then.name} was told what {kind.name} thought")
        refusals = len(server.refusals)
    return Cell(kind.name, case, streams, then.name if then else "", not wrong, refusals, "; ".join(wrong))


def _settings(server: StrictServer, families: Sequence[Family], *, streams: bool) -> dict[str, Any]:
    more = ["streaming"] if streams else []
    return {
        family.name: {
            "base_url": server.url(family.name),
            "api_key": "key",
            "model": family.model,
            "capabilities": [*family.capabilities, *more],
            "priority": place,
            **family.settings,
        }
        for place, family in enumerate(families)
    }


def _run(folder: Path, providers: dict[str, Any], case: str) -> tuple[str, str]:
    """Ask, approve what waits in a process of its own, and say how the run ended."""
    write_workspace(folder)
    planning = "always" if case == "plan" else "never"
    sections = {"providers": providers, "planning": {"mode": planning}, "approval": {"plan": "never"}}
    sections |= {"planner": {"attempts": 1}, "failover": {"base_ms": 1, "jitter": 0, "retries": 0}}
    (folder / SECTIONS).write_text(json.dumps(sections), "utf-8")
    thread = str(uuid.uuid4())
    config: Any = {"configurable": {"thread_id": thread}}
    turns = case if case in TURNS else "loop"
    given: Any = {"messages": [("user", f"Look how many tickets are open. CASE:{turns}")]}
    with build_graph(load(folder, **sections)) as agent:
        out = agent.invoke(given, config)
    if case == "gate" and "__interrupt__" not in out:
        return "failed", "nobody was asked"
    if "__interrupt__" not in out:
        return str(out["status"]), str(out["answer"])
    command = [sys.executable, "-m", "benchmarks.contract_answer", str(folder), thread]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if done.returncode:
        return "failed", done.stderr[-300:]
    ended = json.loads(done.stdout.splitlines()[-1])
    return str(ended["status"]), str(ended["answer"])


def cells(only: str = "") -> list[tuple[type[Family], str, bool, type[Family] | None]]:
    """List what is played: every kind in every case, and every kind that takes over from every other."""
    chosen = [kind for kind in FAMILIES if only in kind.name]
    alone = [case for case in CASES if case != "failover"]
    plain = [(kind, case, streams, None) for kind, case, streams in product(chosen, alone, (False, True))]
    pairs = [
        (kind, "failover", bool(place % 2), then)
        for place, (kind, then) in enumerate(product(chosen, FAMILIES))
        if kind is not then
    ]
    return [*plain, *pairs]


def table(played: Sequence[Cell]) -> Table:
    """Count what is right, by kind and case, and name the source of each contract."""
    shown = Table("server", *CASES, "refused on the way", "source", title=f"{len(played)} runs")
    for kind in FAMILIES:
        mine = [cell for cell in played if cell.family == kind.name]
        if mine:
            counts = []
            for case in CASES:
                own = [cell.right for cell in mine if cell.case == case]
                counts.append(f"{sum(own)}/{len(own)}")
            shown.add_row(kind.name, *counts, str(sum(cell.refusals for cell in mine)), kind.source)
    return shown


def main() -> None:
    """Play all cells, print what went wrong and the table, and exit 1 where a cell is not right."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default="", help="kinds of servers whose name holds this")
    arguments, console = parser.parse_args(), Console()
    played = []
    for kind, case, streams, then in cells(arguments.only):
        with tempfile.TemporaryDirectory(prefix="contract-") as folder:
            cell = play(kind, case, Path(folder), streams=streams, then=then)
        played.append(cell)
        if not cell.right:
            place = f"{cell.family} {cell.case} {cell.then} {'streamed' if cell.streams else 'whole'}"
            console.print(f"{place}: {cell.detail}", markup=False)
    console.print(table(played))
    RESULTS.write_text(json.dumps([asdict(cell) for cell in played], indent=1), encoding="utf-8")
    sys.exit(any(not cell.right for cell in played))


if __name__ == "__main__":
    main()
