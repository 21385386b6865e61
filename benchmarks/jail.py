"""`jail`: hostile paths through every capability that takes one, and links swapped in meanwhile.

Around the workspace lie files nobody may read, change, or add to. A deed fails when anything of them
comes out, when anything outside has changed, when it hangs, or when it breaks off with anything but a
refusal. Prints how many failed and the seed, writes `jail.json`, and exits with 1 on any failure.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import inspect
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.hostile_paths import HARMLESS, OUTSIDE, SECRET, build, outside_of
from planwright.capabilities.builtin import documents, files, sql
from planwright.capabilities.builtin.mail import drafts, smtp
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.domain.errors import PlanwrightError
from planwright.records.stores import Stores, open_stores
from planwright.security.jail import Jail
from planwright.settings.settings import load

HANG_S = 60
ROOT = Path(__file__).parents[1]
Deed = Callable[[str], tuple[Capability, dict[str, Any]]]
DEEDS: dict[str, Deed] = {
    "files.list": lambda path: (files.list_files, {"path": path, "pattern": "*"}),
    "files.read": lambda path: (files.read, {"path": path}),
    "files.search": lambda path: (files.search, {"path": path, "query": "e"}),
    "files.write": lambda path: (files.write, {"path": path, "text": "mine now"}),
    "documents.create": lambda path: (documents.create, {"path": path, "text": "mine now"}),
    "documents.create below": lambda path: (documents.create, {"path": f"{path}/x.md", "text": "mine now"}),
    "mail.draft": lambda path: (drafts.draft, {"text": "x", "attachments": [path]}),
    "mail.send": lambda path: (smtp.send, {"text": "x", "to": ["a@example.com"], "attachments": [path]}),
    "sql.query": lambda path: (sql.query, {"statement": "SELECT * FROM t", "database": path}),
    "sql.execute": lambda path: (sql.execute, {"statement": "DELETE FROM t", "database": path}),
}
# What is swapped while it is used: a folder on the way, and the file itself.
RACES: tuple[tuple[str, str], ...] = (
    *((deed, "door/secret.txt") for deed in ("files.read", "files.write", "mail.draft", "mail.send")),
    *((deed, "door") for deed in ("files.list", "files.search", "documents.create below")),
    *((deed, "leaf.txt") for deed in ("files.read", "files.write")),
    *((deed, "leaf.db") for deed in ("sql.query", "sql.execute")),
    ("documents.create", "door/made.md"),
)


@dataclass(frozen=True)
class Failure:
    """What went wrong with one deed on one path."""

    deed: str
    path: str
    what: str


class Sweep:
    """A workspace among files of others, and the deeds tried in it."""

    def __init__(self, folder: Path) -> None:
        self.outside = folder / "outside"
        self.root = self.outside / "root"
        self.failures: list[Failure] = []
        self.stores: Stores = open_stores(folder / "store")
        self.refused = self.done = 0
        self.renew()

    def renew(self) -> None:
        """Build everything anew."""
        shutil.rmtree(self.outside, ignore_errors=True)
        build(self.outside)
        mail = {"host": "127.0.0.1", "port": 1, "from": "a@example.com", "security": "none"}
        settings = load(self.root, mail=mail)
        world = CallContext(
            settings,
            Jail(settings.workspace),
            self.stores.memories,
            file_versions=self.stores.file_versions,
        )
        self.world = world.for_call("acme", "run_1", "k" * 64)
        self.before = outside_of(self.root)

    def attempt(self, deed: str, path: str, *, must_refuse: bool = False) -> None:
        """Do one thing to one path, and note what is wrong with what came of it."""
        found, args = DEEDS[deed](path)
        try:
            with _alarm():
                said = str(_call(found, args, self.world))
            self.done += 1
            if must_refuse:
                self._fail(deed, path, "it was not refused")
        except PlanwrightError as error:
            self.refused += 1
            said = str(error)
        except Exception as error:  # noqa: BLE001 - that only refusals come out is what is tested
            said = ""
            self._fail(deed, path, f"{type(error).__name__} came out: {error}")
        if SECRET in said:
            self._fail(deed, path, "a secret came out")

    def look_around(self, deed: str, path: str) -> None:
        """Note what has changed outside."""
        after = outside_of(self.root)
        if changed := sorted({k for k, _ in after.items() ^ self.before.items()}):
            self._fail(deed, path, f"outside: {', '.join(changed[:3])}")
            self.renew()

    def _fail(self, deed: str, path: str, what: str) -> None:
        self.failures.append(Failure(deed, ascii(path[:120]), what[:300]))


def sweep(folder: Path, paths: list[tuple[str, bool]]) -> Sweep:
    """Try every deed on paths; the second of each says whether it has to be refused."""
    made = Sweep(folder)
    for path, must_refuse in paths:
        for deed in DEEDS:
            spelled = path.replace("{root}", str(made.root)).replace("{outside}", str(made.outside))
            made.attempt(deed, spelled, must_refuse=must_refuse)
            made.look_around(deed, path)
    made.stores.close()
    return made


def every_path() -> list[tuple[str, bool]]:
    """List all paths, and whether each has to be refused."""
    return [*((path, True) for path in OUTSIDE), *((path, False) for path in HARMLESS)]


def race(folder: Path, count: int, seed: int) -> tuple[Sweep, int]:
    """Try deeds while a process swaps folders and files for links to the outside; also count its swaps."""
    made, rng = Sweep(folder), random.Random(seed)
    swapper = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.jail", "--swap", str(made.root)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert swapper.stdout is not None
    try:
        swapper.stdout.readline()
        for _ in range(count):
            made.attempt(*rng.choice(RACES))
    finally:
        swapper.send_signal(signal.SIGTERM)
        swaps = int(swapper.communicate(timeout=HANG_S)[0] or 0)
    made.look_around("race", "all")
    made.stores.close()
    return made, swaps


def swap(root: Path) -> None:
    """Swap each of three things for a link to the outside and back, until told to stop."""
    going, swaps = [True], 0
    signal.signal(signal.SIGTERM, lambda *_: going.clear())
    (root / "door").mkdir()
    (root / "door" / "secret.txt").write_text("inside")
    (root / "leaf.txt").write_text("inside")
    with closing(sqlite3.connect(root / "leaf.db")) as db, db:
        db.execute("CREATE TABLE t (x)")
        db.executemany("INSERT INTO t VALUES (?)", [("inside",)] * 10)
    aims = {"door": root.parent, "leaf.txt": root.parent / "secret.txt", "leaf.db": root.parent / "secret.db"}
    for name, aim in aims.items():
        (root / f".link-{name}").symlink_to(aim)
    print("ready", flush=True)
    while going:
        for name in aims:
            place, link, real = root / name, root / f".link-{name}", root / f".real-{name}"
            with contextlib.suppress(OSError):
                os.rename(place, real)
                os.rename(link, place)
            with contextlib.suppress(OSError):
                os.rename(place, link)
                os.rename(real, place)
            swaps += 2
    print(swaps, flush=True)


def _call(found: Capability, args: dict[str, Any], world: CallContext) -> Any:
    """Check and call as the gateway does."""
    found.check(args, world)
    keywords = dict(found.args.model_validate(args)) | {str(found.context_parameter): world}
    result = found.function(**keywords)
    return asyncio.run(result) if inspect.iscoroutine(result) else result


@contextlib.contextmanager
def _alarm() -> Iterator[None]:
    """Break off what hangs."""

    def ring(*_: object) -> None:
        raise TimeoutError(f"it did not come back within {HANG_S} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, HANG_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def main() -> int:
    """Sweep and race, and return the exit code."""
    options = _options()
    if options.swap:
        swap(options.swap)
        return 0
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="jail-") as folder:
        swept = sweep(Path(folder) / "sweep", every_path())
        raced, swaps = race(Path(folder) / "race", options.races, options.seed)
    failures = [*swept.failures, *raced.failures]
    deeds, tried = len(every_path()) * len(DEEDS), swept.refused + swept.done
    figures = {
        "paths": len(every_path()),
        "deeds": deeds,
        "races": options.races,
        "swaps": swaps,
        "races_refused": raced.refused,
        "races_done": raced.done,
        "failures": len(failures),
        "seed": options.seed,
        "seconds": round(time.perf_counter() - started, 1),
    }
    options.json.write_text(json.dumps(figures, indent=2) + "\n")
    print(", ".join(f"{name} {value}" for name, value in figures.items()))
    for failure in failures[:20]:
        print(f"  {asdict(failure)}")
    enough = figures["paths"] >= 150 and tried == deeds and min(raced.refused, raced.done) >= 100
    return int(bool(failures) or not enough)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--races", type=int, default=10_000, help="deeds while links are swapped in")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, default=Path("jail.json"))
    parser.add_argument("--swap", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
