"""A workspace on disk, the world that a command meets in it, and `planwright` in a process of its own."""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.counted_person import preload as load_runs
from benchmarks.counted_stage import fork, join, rows_of
from benchmarks.counting_receiver import Receiver
from benchmarks.crash_calls_trial import CALL, Kill
from benchmarks.world_files import Desk, EffectClass, World
from benchmarks.world_shapes import Shape
from planwright import prompts

CLOCK, HOST = "WORLD_CLOCK_S", "WORLD_HOST"
PROGRESS = {"runs": "run_id, status", "gates": "gate_id, status", "effects": "key, status", "steps": "uid"}
MODULES = (
    "upkeep.restore",
    "cli.actions.approving",
    "cli.actions.forking",
    "cli.actions.settling",
    "cli.main",
    "cli.session.drive",
    "cli.views.db_views",
    "extras.mcp.mcp_views",
    "cli.views.plan_card",
    "cli.views.run_views",
)


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    args: tuple[str, ...]
    code: int
    stdout: str
    stderr: str
    calls: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """All that it printed."""
        lines = f"{self.stdout}\n{self.stderr}".splitlines()
        return "\n".join(line.rstrip() for line in lines if line.strip())


@dataclass(frozen=True)
class WorldStage:
    """A workspace of its own with a receiver of its own, and what is played there."""

    folder: Path
    receiver: Receiver
    shape: Shape
    effect: EffectClass
    ended: list[Ended] = field(default_factory=list, compare=False)

    @property
    def workspace(self) -> Path:
        """The folder in which commands are given."""
        return self.folder / "workspace"

    def write(self, world: World) -> None:
        """Write the files of a world."""
        Desk(self.workspace, self.receiver.port, self.shape, self.effect).write(world)

    def planwright(self, args: Sequence[str], world: World, kill: Kill | None = None) -> Ended:
        """Give a command, in a process that meets a world, and may die; wait for its end."""
        out, err, log = (self.folder / name for name in ("stdout.txt", "stderr.txt", "calls.txt"))
        log.unlink(missing_ok=True)

        def work() -> None:
            _become(args, self.workspace, (out, err))
            _enter(world, self.folder)
            if kill:
                kill.arm(self.workspace, log)
            _main()

        code = join(fork(work))
        noted = tuple(log.read_text().splitlines()) if log.exists() else ()
        self.ended.append(Ended(tuple(args), code, out.read_text(), err.read_text(), noted))
        return self.ended[-1]

    def command(self, *args: str) -> Ended:
        """Give a command that is to succeed, in a world where nothing is special."""
        ended = self.planwright(args, World())
        if ended.code:
            raise RuntimeError(f"planwright {' '.join(args)} ended with {ended.code}: {ended.said}")
        return ended

    def progress(self) -> list[dict[str, object]]:
        """Read how all that is on record stands, to see whether a command changed anything."""
        return [
            row
            for table, columns in PROGRESS.items()
            for row in self.rows(f"SELECT {columns} FROM {table} ORDER BY rowid")
        ]

    def rows(self, query: str, *values: object) -> list[dict[str, object]]:
        """Read rows of the store beside the program; none where there is no such database or table."""
        return rows_of(self.workspace / ".planwright" / "planwright.db", query, *values)


def preload() -> None:
    """Load what commands load on their way, so that no forked process has to. Leaves no thread."""
    for name in MODULES:
        importlib.import_module(f"planwright.{name}")
    load_runs()


def _become(args: Sequence[str], folder: Path, files: Sequence[Path]) -> None:
    """Become the process of a command: its arguments, folder and files; nobody is at its terminal."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    for number, path in enumerate(files, 1):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        os.dup2(file, number)
        os.close(file)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - open as long as the process
    sys.stderr = open(2, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115
    os.chdir(folder)
    sys.argv = ["planwright", *args]


def _enter(world: World, folder: Path) -> None:
    """Let this process meet what a world has beside files: clock, host, version and prompts."""
    if world.clock_s:
        os.environ[CLOCK] = str(world.clock_s)
    if world.host:
        os.environ[HOST] = world.host
    if world.version:
        place = folder / f"planwright-{world.version}.dist-info"
        place.mkdir(exist_ok=True)
        (place / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: planwright\nVersion: {world.version}\n"
        )
        sys.path.insert(0, str(folder))
    if world.prompts:
        place = folder / "prompts"
        if not place.exists():
            shutil.copytree(Path(prompts.__file__).parent, place)
            with (place / "agent.md").open("a") as file:
                file.write("\nBe brief.\n")
        assert prompts.__spec__ is not None
        prompts.__spec__.loader.path = str(place / "__init__.py")  # type: ignore[union-attr]
        for kept in (prompts._text, prompts.prompts_hash):
            kept.cache_clear()


def _main() -> None:
    """Give the command, and end as its process would."""
    from planwright.cli.main import main

    code: object = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    except BaseException as error:  # noqa: BLE001 - a bug, as a traceback
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    os.environ.pop(CALL, None)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)
