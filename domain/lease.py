"""The right of one process to write for one run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Lease:
    """A run, and the fencing token under which this process works on it.

    The token rises with every process that takes the run, or a later run of its thread; whoever holds an
    older one writes nothing any more (M. Kleppmann, "How to do distributed locking", 2016). `owner` names the
    process. The table of leases sets all fields.
    """

    tenant: str
    thread_id: str
    run_id: str
    token: int
    owner: str = ""
