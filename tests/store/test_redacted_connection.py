"""The last net: nothing that holds a secret is written into a table or a blob as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint

from benchmarks.canaries import SHAPES, found_in, searched, shown
from benchmarks.secrets import ENVIRONMENT
from planwright.domain.plan import Plan
from planwright.records.stores import Stores, open_stores
from planwright.security.redaction.redactor import Redactor


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    opened = open_stores(tmp_path, redactor=Redactor(ENVIRONMENT))
    yield opened
    opened.close()


@pytest.mark.sampled(12)
@pytest.mark.parametrize("shape", SHAPES)
def test_no_checkpoint_table_or_blob_holds_a_secret(stores: Stores, tmp_path: Path, shape: str) -> None:
    text = shown(shape)
    plan = Plan.model_validate(
        {"goal": text, "steps": [{"id": "s1", "capability": "x", "params": {"a": text}}]}
    )
    values = {
        "messages": [HumanMessage(text, additional_kwargs={text: [text]})],
        "plan": plan,
        "raw": text.encode(),
    }
    at: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    about: Any = {"source": "input", "note": text}
    kept = stores.saver.put(at, {**empty_checkpoint(), "channel_values": values}, about, {})
    stores.saver.put_writes(kept, [("answer", text)], "task")
    query = "INSERT INTO threads (thread_id, tenant, title) VALUES (?, ?, ?)"
    stores.database.call("title", lambda c: c.executemany(query, [("t", "x", json.dumps({"title": text}))]))
    assert stores.blobs.get(stores.blobs.put(text)) == stores.blobs.get(stores.blobs.put(text))
    assert [hit for _, written in searched(tmp_path) for hit in found_in(written)] == []
    found = stores.saver.get_tuple(at)
    assert found is not None
    assert isinstance(found.checkpoint["channel_values"]["plan"], Plan)
    assert "[REDACTED CANARY_PLAIN]" in found.checkpoint["channel_values"]["messages"][0].text


def test_what_holds_no_secret_is_written_as_it_is(tmp_path: Path) -> None:
    values = {"messages": [HumanMessage("hello \\\\ \\ \u202e", id="1")]}
    checkpoint = {**empty_checkpoint(), "channel_values": values}
    written = []
    for name, redactor in (("plain", None), ("guarded", Redactor(ENVIRONMENT))):
        stores = open_stores(tmp_path / name, redactor=redactor)
        stores.saver.put({"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, checkpoint, {}, {})  # type: ignore[arg-type]
        read = "SELECT type, checkpoint, metadata FROM checkpoints"
        written.append(stores.saver.database.call("read", lambda c: [*map(tuple, c.execute(read))]))  # noqa: B023
        stores.close()
    assert written[0] == written[1]
