"""What the newest checkpoint of a thread knows, to be compared with what is on record."""

from __future__ import annotations

from langgraph.types import StateSnapshot

from planwright.approvals.decide import gate_of
from planwright.checkpoints.upkeep.store_times import Checkpointed
from planwright.domain.results import answer_id


def checkpoint_facts(thread_id: str, snapshot: StateSnapshot) -> Checkpointed:
    """Read it from a snapshot of the thread's state."""
    run_id = snapshot.values.get("run_id")
    messages = snapshot.values.get("messages", [])
    return Checkpointed(
        thread_id=thread_id,
        run_id=run_id,
        ended=any(run_id is not None and message.id == answer_id(run_id) for message in messages),
        steps=frozenset(snapshot.values.get("results") or {}),
        gates=frozenset(filter(None, (gate_of(interrupt.value) for interrupt in snapshot.interrupts))),
    )
