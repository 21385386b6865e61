"""What the mark adds to an effect: its intent and its record, with and without a mark, in turns.

One at a time, each waits for the disk alone; of those that begin at once a group does. Prints ratios.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from pydantic import JsonValue

from planwright.domain.lease import Lease
from planwright.records.effects.ledger import EffectCall
from planwright.records.records import Records, open_records
from planwright.records.runs import Run

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
RUN = Run(
    run_id="run_1",
    thread_id="thread_1",
    tenant="acme",
    status="running",
    request="send them",
    messages=[],
    context={},
    started_at=NOW.isoformat(),
)
KINDS, GROUPS = ("without", "with"), (1, 20)
EFFECTS, ROUNDS, WARM = 60, 16, 2


def main() -> None:
    """Measure in the folder that is named, and on the server at the URL that may follow."""
    place, url = sys.argv[1], (sys.argv[2:] or [""])[0]
    with tempfile.TemporaryDirectory(dir=place) as folder:
        for together, figures in asyncio.run(measured(Path(folder), url)).items():
            print(f"{together} at once: {figures}")


async def measured(folder: Path, url: str) -> dict[int, dict[str, float]]:
    """Return by how many begin at once: milliseconds of an effect, and the ratios of time and CPU."""
    stores = {name: _opened(folder / name, url and f"{url}{name}", name == "with") for name in KINDS}
    leases = {name: await records.leases.take(RUN, 600) for name, records in stores.items()}
    figures = {}
    for together in GROUPS:
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in KINDS}
        for number in range(ROUNDS):
            for name in KINDS if number % 2 else KINDS[::-1]:
                first = (together * ROUNDS + number) * EFFECTS
                times[name].append(await _effects(stores[name], leases[name], first, together))
        (wall, cpu), (wall_with, cpu_with) = (_medians(times[name][WARM:]) for name in KINDS)
        figures[together] = {
            "without_ms": round(wall, 3),
            "with_ms": round(wall_with, 3),
            "time": round(wall_with / wall, 2),
            "cpu": round(cpu_with / cpu, 2),
        }
    for records in stores.values():
        records.close()
    return figures


def _opened(folder: Path, url: str, marked: bool) -> Records:
    records = open_records(folder, url=url)
    if not marked:
        records.database.mark = None
    return records


async def _effects(records: Records, lease: Lease, first: int, together: int) -> tuple[float, float]:
    """Begin and end effects; return milliseconds of one, by the clock and of the CPU."""

    async def one(number: int) -> None:
        args: dict[str, JsonValue] = {"to": "anna", "number": number}
        call = EffectCall(lease, f"step_{number}", "mail.send", "blind", args)
        await records.ledger.intend(call, NOW)
        await records.ledger.settle(call, "done", NOW, {"sent": number})

    began, cpu = time.perf_counter(), time.process_time()
    for start in range(first, first + EFFECTS, together):
        await asyncio.gather(*(one(number) for number in range(start, start + together)))
    return (time.perf_counter() - began) / EFFECTS * 1e3, (time.process_time() - cpu) / EFFECTS * 1e3


def _medians(times: list[tuple[float, float]]) -> tuple[float, float]:
    wall, cpu = zip(*times, strict=True)
    return statistics.median(wall), statistics.median(cpu)


if __name__ == "__main__":
    main()
