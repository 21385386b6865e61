"""What every process of a disturbed run has: capabilities that send to the receiver, and an agent."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel

from benchmarks.consent_cases import DEFAULT_POLICY
from benchmarks.counted_shapes import Shape
from benchmarks.counting_receiver import Receiver, receiving
from benchmarks.server_rows import server_rows
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.errors import CapabilityRejected, CapabilityUnavailable
from planwright.domain.plan import Compensation
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.records.stores import open_stores
from planwright.settings.settings import load
from planwright.state.invocation import Clock, utc_now
from planwright.store.database import Boundary

THREAD = "11111111-2222-4333-8444-555555555555"
CHILD_S = 60
LOOK_S = 5  # a reader waits for no writer, only for one that opens the store, and may stand still in it


class Receipt(BaseModel):
    """What the receiver answers."""

    name: str


@dataclass(frozen=True)
class Stage:
    """A workspace of its own, a receiver of its own, and what is played there."""

    workspace: Path
    receiver: Receiver
    shape: Shape
    lease_s: float = 60
    busy_timeout_s: float = 30
    settings: dict[str, Any] = field(default_factory=dict)
    url: str = ""  # of the store in PostgreSQL; empty where it is a file
    clock: Clock = utc_now

    @property
    def store(self) -> Path:
        """The folder of the databases."""
        return self.workspace / ".planwright"

    def prepare(self) -> None:
        """Make the workspace."""
        self.workspace.mkdir(parents=True)
        if self.shape.policy:
            (self.workspace / "policy.toml").write_text(self.shape.policy + DEFAULT_POLICY.read_text("utf-8"))

    def create_store(self) -> None:
        """Create both databases. Starts threads."""
        agent = self.open()
        for database in (agent.stores.database,):
            database.call("create", lambda connection: None)
        agent.close()

    def open(self, boundary: Boundary | None = None) -> Agent:
        """Open an agent over the workspace, with this shape's model behind a provider."""
        provider = {
            "base_url": f"http://127.0.0.1:{self.receiver.port}/v1",
            "model": "m",
            "api_key": "not-needed",
            "capabilities": ["function_calling", "json_mode"],
        }
        settings = load(
            self.workspace,
            providers={"desk": provider},
            sessions={"lease_s": self.lease_s},
            storage={"busy_timeout_s": self.busy_timeout_s, **({"url": self.url} if self.url else {})},
            **{"execution": {"retry_base_ms": 1}, **self.settings, **self.shape.settings},
        )
        stores = open_stores(
            settings.store_folder,
            busy_timeout_s=self.busy_timeout_s,
            boundary=boundary,
            url=settings.store_url,
            clock=self.clock,
        )
        return build_graph(settings, capabilities=self.capabilities(), stores=stores)

    def capabilities(self) -> list[Capability]:
        """Declare what its runs call."""
        return sending(self.receiver)

    def rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        """Read rows of the store beside the program; none where there is no such database or table."""
        if self.url:
            return server_rows(self.url, query, *values)
        return rows_of(self.store / "planwright.db", query, *values)


def rows_of(path: Path, query: str, *values: Any) -> list[dict[str, Any]]:
    """Read rows of a database without writing a byte to it."""
    if not path.exists():
        return []
    try:
        return _read(path, query, values)
    except sqlite3.OperationalError as error:
        if "readonly" not in str(error) and str(error) not in ("locking protocol", "database is locked"):
            raise
    # Its writer died, and SQLite has to mend it to read it; or it stands still in the middle of doing so.
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("", "-wal", "-journal"):
            if (part := path.with_name(path.name + suffix)).exists():
                shutil.copy(part, folder)
        return _read(Path(folder) / path.name, query, values, "rw")


def _read(path: Path, query: str, values: Sequence[Any], mode: str = "ro") -> list[dict[str, Any]]:
    with closing(sqlite3.connect(f"file:{path}?mode={mode}", uri=True, timeout=LOOK_S)) as database:
        database.row_factory = sqlite3.Row
        try:
            return [dict(row) for row in database.execute(query, values)]
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return []
            raise


def sending(receiver: Receiver) -> list[Capability]:
    """Declare the capabilities, one for each class of effect."""

    def send(kind: str, name: str, call: CallContext) -> Receipt:
        try:
            return Receipt(name=receiver.send(kind, name, call.idempotency_key))
        except OSError as error:
            raise CapabilityUnavailable(str(error)) from error

    def transferred(name: str, call: CallContext) -> Receipt | None:
        return Receipt(name=name) if receiver.knows(call.idempotency_key) else None

    @capability(
        "bench.transfer",
        trusted_result=True,
        mode="local_write",
        risk="Medium",
        effect="queryable",
        lookup=transferred,
    )
    def transfer(name: str, call: CallContext) -> Receipt:
        """Transfer to a receiver that does all that arrives, and can be asked what did."""
        return send("queryable", name, call)

    @capability("bench.stamp", trusted_result=True, mode="local_write", risk="Medium", effect="blind")
    def stamp(name: str, call: CallContext) -> Receipt:
        """Stamp a document at a receiver that knows no keys."""
        return Receipt(name=receiver.send("blind", name, call.idempotency_key))

    @capability("bench.pay", trusted_result=True, mode="destructive", effect="idempotent")
    def pay(name: str, call: CallContext) -> Receipt:
        """Pay by a receiver that honours the idempotency key; a person decides over every call."""
        return send("idempotent", name, call)

    @capability("bench.block", trusted_result=True, mode="local_write", risk="Medium", effect="blind")
    async def block(name: str, call: CallContext) -> Receipt:
        """Send, and hold up the event loop it runs on until there is an answer."""
        return Receipt(name=receiver.send("blind", name, call.idempotency_key))

    @capability("bench.fail", trusted_result=True, mode="local_write", risk="Medium", effect="idempotent")
    def fail(name: str, call: CallContext) -> Receipt:
        """Refuse what is asked for, always."""
        raise CapabilityRejected(f"there is no account for {name}")

    return [*_bookings(send), transfer, stamp, pay, block, fail]


def _bookings(send: Callable[[str, str, CallContext], Receipt]) -> list[Capability]:
    """Declare an effect and the one that takes it back."""
    unbooked = Compensation(capability="bench.unbook", params={"name": "{{input.name}}"})

    @capability(
        "bench.book",
        trusted_result=True,
        mode="local_write",
        risk="Medium",
        effect="idempotent",
        compensation=unbooked,
    )
    def book(name: str, call: CallContext) -> Receipt:
        """Book an entry with a receiver that honours the idempotency key."""
        return send("idempotent", name, call)

    @capability("bench.unbook", trusted_result=True, mode="local_write", risk="Medium", effect="idempotent")
    def unbook(name: str, call: CallContext) -> Receipt:
        """Take an entry back."""
        return send("idempotent", f"not {name}", call)

    return [book, unbook]


def config(thread: str = THREAD, process: str = "") -> RunnableConfig:
    """Name a thread; the name of the process goes into the metadata of each checkpoint it writes."""
    return {"configurable": {"thread_id": thread}, "metadata": {"process": process}}


def fork(work: Callable[[], object], seconds: int = CHILD_S) -> int:
    """Do something in a forked process; return its pid."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    signal.alarm(seconds)
    try:
        work()
        code = 0
    except BaseException:  # noqa: BLE001 - the child ends here, whatever happened
        traceback.print_exc()
    finally:
        os._exit(code)


def join(pid: int) -> int:
    """Wait for a forked process; return its exit code, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@contextmanager
def staged(shape: Shape, folder: Path, *, fresh: bool = True, **options: Any) -> Iterator[Stage]:
    """Set a stage for one run, with a receiver beside it; a store that is not `fresh` is there already."""
    held = options.pop("held", frozenset())
    with receiving(shape.script, held) as receiver:
        stage = Stage(folder / "workspace", receiver, shape, **options)
        stage.prepare()
        if not fresh:
            join(fork(stage.create_store))
        yield stage


def quick_folder() -> str:
    """Name a folder in memory, where waiting for a disk takes no time, if there is one.

    What a machine loses without power is not what is tried here.
    """
    return tempfile.gettempdir()


def side_by_side(
    works: Iterable[Callable[[Path], Any]], folder: Path, wanted: Callable[[list[Any], int], bool], slots: int
) -> list[Any]:
    """Do works in forked processes, some at a time, and collect what they return, which goes through JSON.

    `wanted` is asked before each, with what has been returned and how many are under way.
    """
    results: list[Any] = []
    running: dict[int, Path] = {}
    waiting = iter(works)
    while True:
        while len(running) < slots and wanted(results, len(running)):
            if (work := next(waiting, None)) is None:
                break
            place = Path(tempfile.mkdtemp(dir=folder))
            running[fork(partial(_noted, work, place), 4 * CHILD_S)] = place
        if not running:
            return results
        pid, status = os.wait()
        place = running.pop(pid)
        if status:
            raise RuntimeError(f"a trial ended with {os.waitstatus_to_exitcode(status)}")
        results.append(json.loads((place / "result.json").read_text()))
        shutil.rmtree(place)


def _noted(work: Callable[[Path], Any], place: Path) -> None:
    (place / "result.json").write_text(json.dumps(work(place)))
