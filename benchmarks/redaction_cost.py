"""What it costs a checkpoint to be looked through for secrets, as a part of what writing it costs."""

from __future__ import annotations

import statistics
import time
import uuid
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint

from planwright.records.stores import open_stores
from planwright.security.redaction.redactor import Redactor

WRITES, ROUNDS = 10, 60
TEXT = "The invoice of Acme over 1,280.50 is due on Friday; ask Sam whether the second one was paid. " * 20


def cost(folder: Path, secrets: int = 5) -> dict[str, float]:
    """Write the checkpoint of a conversation, with and without secrets known, in turns.

    Returns the extra processor time as a part of that of a write, and milliseconds of both.
    """
    known = {f"KEY_{n}": f"sk-proj-{uuid.uuid4().hex}{uuid.uuid4().hex}" for n in range(secrets)}
    kinds = {"plain": None, "redacted": Redactor(known)}
    stores = {name: open_stores(folder / name, redactor=kind) for name, kind in kinds.items()}
    times: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(ROUNDS):
        for name, opened in stores.items():
            times[name].append(_written(opened.saver))
    for opened in stores.values():
        opened.close()
    plain, redacted = (statistics.median(times[name]) for name in kinds)
    return {
        "write_ms": round(plain * 1e3, 3),
        "write_redacted_ms": round(redacted * 1e3, 3),
        "extra_cpu": round(redacted / plain - 1, 4),
    }


def _written(saver: Any) -> float:
    """Write checkpoints, and return the processor seconds of one."""
    config = {"configurable": {"thread_id": str(uuid.uuid4()), "checkpoint_ns": ""}}
    began = time.process_time()
    for step in range(WRITES):
        checkpoint = {**empty_checkpoint(), "channel_values": {"messages": _conversation(step % 4 + 1)}}
        config = saver.put(config, checkpoint, {"source": "loop", "step": step, "parents": {}}, {})
    return (time.process_time() - began) / WRITES


def _conversation(turns: int) -> list[Any]:
    call = {"name": "files__read", "args": {"path": "notes/roadmap.md"}, "id": "c1", "type": "tool_call"}
    one = [HumanMessage(TEXT[:200]), AIMessage("", tool_calls=[call]), ToolMessage(TEXT, tool_call_id="c1")]
    return [*one, AIMessage(TEXT[:400])] * turns
