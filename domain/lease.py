"""The right of one process to write for one run."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Lease:
    """A run, and the fencing token under which this process works on it.

    The token rises with every process that takes the run, or a later run of its thread; whoever holds an
    older one writes nothing any more (M. Kleppmann, "How to do distributed locking", 2016). `owner` names the
    process. The table of leases sets all fields.
    """

    tenant: str
    """Whose run it is."""
    thread_id: str
    """Id of the thread of the run."""
    run_id: str
    """Id of the run that may be written for."""
    token: int
    """Fencing token: rises with every process that takes the run, or a later one of its thread."""
    owner: str = ""
    """Name of the process that holds it, as `Owner` spells it."""
    unwritten: list[BaseException] = field(default_factory=list, compare=False, repr=False)
    """What kept rows of the run from being written under it, the first one first; who writes them adds it."""

    def check(self) -> None:
        """Raise what kept a row from being written: nothing that may lean on it is written after it."""
        if self.unwritten:
            raise self.unwritten[0]
