"""Play the quirks of real model servers against every role and way of streaming: `quirks`.

A run has to end with what the right reply would have brought; where a server cannot be met, it has to fail
with an error of ours. Nothing may leave a run as another exception, and nothing may be called completed
that did nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import re
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.quirk_server import ANSWER, Quirk, QuirkServer
from benchmarks.quirk_table import QUIRKS
from planwright.domain.errors import PlanwrightError
from planwright.extras.demo.workspace import write_workspace
from planwright.graph.building import build_graph
from planwright.settings.settings import load

ROLES = {"planner": "always", "agent": "never", "respond": "always"}
MODES = ("messages", "custom")
MET = ("right", "told")
LONGEST_TOLD = 2000  # characters of a detail
RESULTS = Path("quirks.json")
REQUEST = "What tickets are open?"


@dataclass(frozen=True)
class Cell:
    """One quirk in the replies of one role, in one way of streaming."""

    quirk: str
    """Name of the quirk."""
    role: str
    """Role whose replies have it."""
    mode: str
    """Mode of the stream that is read."""
    streamed: bool
    """Whether the provider is said to stream."""
    outcome: str
    """`right`, `told` (of a server that cannot be met, it says why), `failed` (with an error of ours), `idle`
    (completed with nothing done, or with another answer), or `raw`."""
    detail: str = ""
    """What was raised, or answered instead."""


async def play(quirk: Quirk, role: str, mode: str, streamed: bool, server: QuirkServer) -> Cell:
    """Play one cell in a workspace of its own."""
    server.quirk, server.role = quirk, role
    with tempfile.TemporaryDirectory(prefix="quirk-") as folder:
        write_workspace(Path(folder))
        outcome, detail = await _run(Path(folder), role, mode, streamed, server)
    if quirk.tells and outcome != "raw" and re.search(quirk.tells, detail):
        outcome = "told"
    return Cell(quirk.name, role, mode, streamed, outcome, detail)


async def _run(folder: Path, role: str, mode: str, streamed: bool, server: QuirkServer) -> tuple[str, str]:
    capabilities = ["function_calling", "json_mode", *(["streaming"] if streamed else [])]
    local = {"base_url": server.url, "api_key": "key", "model": "quirky", "capabilities": capabilities}
    settings = load(
        folder,
        providers={"local": local},
        planner={"attempts": 1},
        failover={"base_ms": 1, "jitter": 0, "retries": 1},
        planning={"mode": ROLES[role]},
        approval={"plan": "never"},
    )
    agent, config = build_graph(settings), {"configurable": {"thread_id": str(uuid.uuid4())}}
    try:
        given: Any = {"messages": [("user", REQUEST)]}
        async for _ in agent.astream(given, config, stream_mode=[mode]):  # type: ignore[arg-type]
            pass
        values = (await agent.aget_state(config)).values  # type: ignore[arg-type]
    except PlanwrightError as error:
        return "failed", f"{type(error).__name__}: {error.cause}"
    except Exception as error:  # noqa: BLE001 - what else leaves a run is what is looked for
        return "raw", f"{type(error).__name__}: {error}"[:LONGEST_TOLD]
    finally:
        await agent.aclose()
    status, answer = values.get("status"), values.get("answer", "")
    if status != "completed":
        return "failed", f"{status}: {answer}"[:LONGEST_TOLD]
    done = "SELECT count(*) FROM steps WHERE status = 'completed' AND result LIKE '%tickets.list%'"
    listed = agent.stores.database.call("read", lambda c: int(c.execute(done).fetchone()[0]))
    await asyncio.to_thread(agent.stores.database.close)
    wanted = server.quirk.calls if role == "agent" else 1
    if listed == wanted and answer.strip() == ANSWER:
        return "right", ""
    return "idle", f"{listed} calls: {answer}"[:LONGEST_TOLD]


async def play_all(quirks: Sequence[Quirk], console: Console, *, short: bool = False) -> list[Cell]:
    """Play the cells of some quirks, one after the other; a short play leaves out every other way."""
    cells = []
    with QuirkServer() as server:
        for quirk in quirks:
            ways = [
                way
                for way in itertools.product(ROLES, MODES, (True, False))
                if not short or (way[1] == "messages") is way[2]
            ]
            mine = [await play(quirk, role, mode, streamed, server) for role, mode, streamed in ways]
            cells += mine
            if wrong := [cell for cell in mine if cell.outcome not in MET]:
                counts = Counter(cell.outcome for cell in wrong)
                console.print(
                    f"{quirk.name}: {dict(counts)}, as {wrong[0].role}: {wrong[0].detail}", markup=False
                )
    return cells


def table(cells: Sequence[Cell]) -> Table:
    """Count the outcomes by role and way."""
    outcomes = (*MET, "failed", "idle", "raw")
    shown = Table("role", "stream", "streamed", *outcomes, title=f"{len({c.quirk for c in cells})} quirks")
    for role, mode, streamed in itertools.product(ROLES, MODES, (True, False)):
        mine = [c.outcome for c in cells if (c.role, c.mode, c.streamed) == (role, mode, streamed)]
        shown.add_row(role, mode, str(streamed), *(str(mine.count(outcome)) for outcome in outcomes))
    return shown


def main() -> None:
    """Play the quirks, print what went wrong and the table, and exit 1 where a server is not met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default="", help="quirks whose name holds this")
    parser.add_argument("--short", action="store_true", help="leave out every other way of streaming")
    arguments, console = parser.parse_args(), Console()
    chosen = [quirk for quirk in QUIRKS if arguments.only in quirk.name]
    cells = asyncio.run(play_all(chosen, console, short=arguments.short))
    console.print(table(cells))
    RESULTS.write_text(json.dumps([asdict(cell) for cell in cells], indent=1), encoding="utf-8")
    sys.exit(any(cell.outcome not in MET for cell in cells))


if __name__ == "__main__":
    main()
