"""Checkpoints taken apart: no message is stored or spelled twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.checkpoint.base import Checkpoint, empty_checkpoint

from planwright.checkpoints.serde import AllowListedSerializer
from planwright.checkpoints.thread_state.layout import refs_in
from planwright.checkpoints.thread_state.packing import MOST_KNOWN, Packed, Packer


class Counting(AllowListedSerializer):
    """The serializer of the store, which counts the messages that it spells."""

    messages = 0
    """How many it has spelled, alone or within another value."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Spell a value."""
        kind, payload = super().dumps_typed(obj)
        self.messages += payload.count(b"AIMessage")
        return kind, payload


def talk(count: int) -> list[AnyMessage]:
    """Make a conversation."""
    return [AIMessage("x" * 500, id=f"m{number}") for number in range(count)]


def checkpoint(version: int, **values: object) -> Checkpoint:
    """Make a checkpoint whose channels all have one version."""
    versions: dict[str, Any] = dict.fromkeys(values, version)
    return {
        **empty_checkpoint(),
        "id": f"c{version}",
        "channel_values": dict(values),
        "channel_versions": versions,
    }


def read(packer: Packer, *packed: Packed) -> dict[str, Any]:
    """Put the last of some checkpoints together, from what all of them stored."""
    stored = {content.hash: (content.type, content.value) for each in packed for content in each.contents}

    def contents(hashes: Iterable[bytes]) -> dict[bytes, tuple[str, bytes]]:
        return {digest: stored[digest] for digest in hashes}

    return packer.unpack(packed[-1].payload, contents)[0]["channel_values"]


def test_the_input_of_a_lane_holds_no_message_again() -> None:
    serializer, messages = Counting(), talk(20)
    packer = Packer(serializer)
    outer = packer.pack(checkpoint(1, messages=messages), None)
    opening = {"conversation": messages, "turn": 1, "goal": "g" * 100, "compacted": None}
    lane = packer.pack(checkpoint(2, __start__=opening), None, outer)
    assert serializer.messages == 20
    assert sum(len(content.value) for content in lane.contents) < 1000
    assert read(packer, outer, lane) == {"__start__": opening}
    assert refs_in(lane.payload) <= lane.hashes
    assert outer.hashes & lane.hashes >= {c.hash for c in outer.contents if c.type != "log"}


def test_a_dictionary_of_other_keys_is_one_value() -> None:
    packer = Packer(AllowListedSerializer())
    value = {1: talk(1), "two": talk(1)}
    assert read(packer, packer.pack(checkpoint(1, state=value), None)) == {"state": value}


def test_the_messages_of_a_long_thread_are_spelled_once() -> None:
    serializer = Counting()
    packer = Packer(serializer)
    count = MOST_KNOWN * 3 // 4
    first = packer.pack(checkpoint(1, messages=talk(count)), None)
    again = [*read(packer, first)["messages"], AIMessage("new", id="new")]
    packer.pack(checkpoint(2, messages=again), first)
    assert serializer.messages == count + 1
