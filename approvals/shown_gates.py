"""Which gates were shown last: an answer that names none is meant for one of these, and for no later one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from planwright.approvals.answers import Bound
from planwright.domain.errors import GateError

MOST_THREADS = 1_000


class ShownGates:
    """The gates of each thread that this agent has shown last; what others show is not known here."""

    def __init__(self) -> None:
        self._by_thread: OrderedDict[str, frozenset[str]] = OrderedDict()

    def show(self, thread_id: str, gate_ids: Iterable[str]) -> None:
        """Note what is shown of a thread; where nothing waits, what was shown before stays."""
        if ids := frozenset(gate_ids):
            self._by_thread[thread_id] = ids
            self._by_thread.move_to_end(thread_id)
            while len(self._by_thread) > MOST_THREADS:
                self._by_thread.popitem(last=False)

    def check(self, thread_id: str, bound: Iterable[Bound]) -> None:
        """Raise GateError for an answer without a name whose gate was opened after what was shown here.

        Somebody else has answered what was shown. An answer that brings the hash of what it saw names it.
        """
        shown = self._by_thread.get(thread_id)
        for item in bound:
            gate_id = item.gate.gate_id
            if shown is not None and gate_id not in shown and item.decision.shown_hash is None:
                cause = f"what was shown here is answered, and gate {gate_id} was opened since"
                raise GateError(cause, f"look at it, then name it in the answer: gate_id {gate_id}")
