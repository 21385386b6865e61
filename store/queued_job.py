"""Jobs of a store: functions of its connection, and what the queue of its writer knows of each."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from planwright.store.reader import Waiter

T = TypeVar("T")
STATE = frozenset(("checkpoint", "writes", "journal"))
"""Names of the jobs that write the state of the graph and the events; other tables lean on neither."""
BESIDE = STATE | {"parts", "time"}
"""Names of jobs that ride and that no read waits for, unless it names them."""
READS = frozenset(("read", "landed"))
"""Names of jobs that write nothing."""
ALWAYS = frozenset(("read", "sign_in", "accept"))
"""Names of jobs that are done in a store that has gone back, too."""
Job = Callable[[sqlite3.Connection], T]
Lost = Callable[[BaseException], None]


@dataclass(frozen=True)
class Beside(Generic[T]):
    """A job that may be under way beside such jobs of other processes: it writes no row of theirs."""

    job: Job[T]
    """The job."""

    def __call__(self, connection: sqlite3.Connection) -> T:
        """Do it."""
        return self.job(connection)


@dataclass
class QueuedJob:
    """A job, who waits for it, and when it has to be committed."""

    name: str
    """What the job is called at its boundary."""
    job: Job[Any]
    """What is done with the connection, in one transaction."""
    waiter: Waiter
    """Gets what the job returns or raises."""
    lost: Lost | None = None
    """Is told what it raises, in the writer's thread and before any later job; None for no one."""
    rides: bool = False
    """Whether it may wait a moment for a job that somebody waits for, and is committed with that."""
    synced: bool = False
    """Whether the disk has to have it before anybody hears of it."""
    begins: bool = False
    """Whether an effect is begun with it: the mark has to have that, too, before anybody hears of it."""
    left: bool = False
    """Whether its caller may ask for something else before it is committed."""
    over: bool = False
    """Whether it is committed, or refused."""

    @property
    def beside(self) -> bool:
        """Whether it may be under way beside jobs of other processes."""
        return isinstance(self.job, Beside) or self.name in READS
