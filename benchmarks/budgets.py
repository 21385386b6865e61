"""Many processes spend one limit: nobody overspends, nobody is refused for nothing, nothing stays lost.

In every trial some processes are killed between a reservation and its settlement; then the others
make their calls at the same time. Then the refused calls are tried again, one after another: what is
refused now would not have fitted in. The limits take turns. Time is a value here, nothing sleeps.
Prints N, failures and the seed, writes `budgets.json`, and exits with 1 on any failure.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from benchmarks.spending import (
    BUSY_S,
    KINDS,
    NOW,
    PROVIDER,
    TENANT,
    TTL_S,
    Kind,
    Order,
    amount,
    amounts,
    reserve,
    spend,
)
from planwright.records.budgets import Budgets
from planwright.settings.provider_budget import ProviderBudgetSettings
from planwright.store.database import Database
from planwright.store.migrations import MIGRATIONS

MEAN = 50  # what a call uses on average; two thirds of what is wanted are there
ROWS, LOOKS = 100_000, 200
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["benchmarks.spending"])


@dataclass
class Trial:
    """What came of one trial; the amounts are in the unit of its limit."""

    kind: Kind
    most: int
    granted: int = 0
    put_off: int = 0
    refused: int = 0
    held_by_killed: int = 0
    used: int = 0
    wrong: list[str] = field(default_factory=list)


def main() -> int:
    """Play the trials and return the exit code."""
    options = _options()
    started, trials = time.perf_counter(), []
    for number in range(options.trials):
        with tempfile.TemporaryDirectory(prefix="budgets-") as folder:
            orders = plan(Path(folder), number, options.processes, options.calls, options.kills, options.seed)
            trials.append(play(orders, options.kills))
    with tempfile.TemporaryDirectory(prefix="budgets-") as folder:
        look_ms = window_sum_ms(Path(folder) / "planwright.db", ROWS)
    figures = summary(trials, options, look_ms)
    figures["seconds"] = round(time.perf_counter() - started, 1)
    options.json.write_text(json.dumps(figures, indent=2) + "\n")
    print(", ".join(f"{name} {value}" for name, value in figures.items()))
    for trial in trials:
        for wrong in trial.wrong:
            print(f"  {trial.kind}: {wrong}")
    return int(bool(figures["failures"]))


def plan(folder: Path, number: int, processes: int, calls: int, kills: int, seed: int) -> list[Order]:
    """Write the orders of one trial: the last `kills` of them end in SIGKILL after a call or several."""
    kind = KINDS[number % len(KINDS)]
    most = processes * calls * MEAN * 2 // 3
    store, orders = folder / "planwright.db", []
    for worker in range(processes + kills):
        dies = worker >= processes
        its = f"{seed}:{number}:{worker}"
        report = folder / f"{worker}.json"
        orders.append(Order(store, kind, most, its, calls, report, worker % 4 if dies else None))
    return orders


def play(orders: Sequence[Order], kills: int) -> Trial:
    """Run the orders at the same time, and look at what they left."""
    first = orders[0]
    Database(first.store, MIGRATIONS).call("open", lambda c: c.execute("SELECT 1").fetchone()[0])
    workers = [_PROCESSES.Process(target=spend, args=(order,)) for order in orders]
    living, dying = workers[: len(workers) - kills], workers[len(workers) - kills :]
    for group in (dying, living):  # what the killed leave behind is there while the others spend
        for worker in group:
            worker.start()
        for worker in group:
            worker.join()
    trial = Trial(first.kind, first.most)
    ended = [worker.exitcode for worker in workers]
    if ended != [0] * (len(orders) - kills) + [-9] * kills:
        trial.wrong.append(f"the processes ended with {ended}")
        return trial
    asyncio.run(_judge(trial, orders, kills))
    return trial


async def _judge(trial: Trial, orders: Sequence[Order], kills: int) -> None:
    """Check the sums, the reservations of the killed, and every refusal."""
    living, killed = orders[: len(orders) - kills], orders[len(orders) - kills :]
    database = Database(orders[0].store, MIGRATIONS, busy_timeout_s=BUSY_S)
    budgets, kind = Budgets(database, TTL_S), trial.kind
    settled, wanted, attempted = 0, [], 0
    for order in living:
        found = json.loads(order.report.read_text())
        made = list(amounts(order.seed, order.calls))
        attempted += len(found["granted"]) + len(found["refused"])
        trial.granted += len(found["granted"])
        settled += sum(made[number][1] for number in found["granted"])
        wanted += [made[number] for number in found["refused"]]
    if attempted != sum(order.calls for order in living):
        trial.wrong.append(f"only {attempted} calls were tried")
    held = []
    for order in killed:
        *made, (worst, _) = amounts(order.seed, (order.dies_at or 0) + 1)
        settled += sum(actual for _, actual in made)
        held.append(worst)
    trial.held_by_killed = sum(held)
    before, after = NOW + timedelta(seconds=TTL_S - 1), NOW + timedelta(seconds=TTL_S)
    for at, expected in ((NOW, settled + sum(held)), (before, settled + sum(held)), (after, settled)):
        if (used := await _used(database, kind, at)) != expected:
            trial.wrong.append(f"{used} used, {expected} expected, {at - NOW} later")
        if used > trial.most:
            trial.wrong.append(f"overspent: {used} of {trial.most}")
    refused = []
    for worst, actual in wanted:
        reservation = await reserve(budgets, kind, trial.most, worst, after)
        if reservation is None:
            refused.append(worst)
        else:
            await budgets.settle(reservation, amount(kind, actual))
    trial.used = await _used(database, kind, after)
    trial.refused, trial.put_off = len(refused), len(wanted) - len(refused)
    for_nothing = sum(trial.used + worst <= trial.most for worst in refused)
    if for_nothing:
        trial.wrong.append(f"{for_nothing} calls were refused, and there was room for them")
    if trial.used > trial.most:
        trial.wrong.append(f"overspent in the end: {trial.used} of {trial.most}")
    database.close()


async def _used(database: Database, kind: Kind, at: datetime) -> int:
    """Sum up the table itself, without the code that is on trial."""
    what = "cost" if kind == "monthly cost" else "tokens"
    query = f"SELECT coalesce(sum({what}), 0) FROM usage WHERE settled = 1 OR expires_at > ?"
    found = await database.run("read", lambda c: c.execute(query, (at.timestamp(),)).fetchone()[0])
    return int(found)


def window_sum_ms(store: Path, rows: int) -> float:
    """Time how long a reservation looks at its windows, in ms, with many calls in the month behind it."""
    database = Database(store, MIGRATIONS)
    first = datetime(NOW.year, NOW.month, 1, tzinfo=UTC)
    step = (NOW - first) / rows
    filled = [(f"r{n}", (first + n * step).isoformat()) for n in range(rows)]
    insert = (
        "INSERT INTO usage (id, tenant, run_id, provider, kind, tokens, cost, calls, settled, expires_at, at)"
        f" VALUES (?, '{TENANT}', 'other', '{PROVIDER}', 'model', 10, 10, 0, 1, 0, ?)"
    )
    database.call("fill", lambda c: c.executemany(insert, filled).rowcount)
    limits = ProviderBudgetSettings(daily_tokens=10**9, monthly_cost=Decimal(10**6))
    times = asyncio.run(_look(Budgets(database), limits))
    database.close()
    return round(statistics.median(times) * 1000, 2)


async def _look(budgets: Budgets, limits: ProviderBudgetSettings) -> list[float]:
    times = []
    for _ in range(LOOKS):
        began = time.perf_counter()
        await budgets.of_provider(TENANT, PROVIDER, limits, NOW)
        times.append(time.perf_counter() - began)
    return times


def summary(trials: Sequence[Trial], options: argparse.Namespace, look_ms: float) -> dict[str, float]:
    """Count over all trials."""
    shares = [trial.used / trial.most for trial in trials]
    return {
        "trials": len(trials),
        "calls": len(trials) * options.processes * options.calls,
        "processes": options.processes,
        "killed": len(trials) * options.kills,
        "granted": sum(trial.granted + trial.put_off for trial in trials),
        "put_off": sum(trial.put_off for trial in trials),
        "refused": sum(trial.refused for trial in trials),
        "overspend": sum(max(0, trial.used - trial.most) for trial in trials),
        "came_back": sum(trial.held_by_killed for trial in trials),
        "utilisation_mean": round(statistics.mean(shares), 5),
        "utilisation_least": round(min(shares), 5),
        "window_rows": ROWS,
        "window_sum_ms": look_ms,
        "seed": options.seed,
        "failures": sum(len(trial.wrong) for trial in trials),
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--processes", type=int, default=20, help="how many spend at the same time")
    parser.add_argument("--calls", type=int, default=200, help="how many each of them wants to make")
    parser.add_argument("--kills", type=int, default=3, help="how many more are killed in a trial")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, default=Path("budgets.json"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
