"""What is asked for in a soak, by number, and the model that answers every conversation of it."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from benchmarks.consent_model import Script
from benchmarks.counted_shapes import Persistent
from benchmarks.simulated_requests import Request, Vocabulary, draw

KINDS = ("book", "book", "transfer", "stamp", "pay")
NUMBER = re.compile(r"\br(\d+)\b")


@dataclass(frozen=True)
class Asked:
    """A request of a soak. `memory`: what its user says of themselves; empty where that is nothing."""

    request: Request
    memory: str = ""

    @property
    def text(self) -> str:
        """What the user says."""
        return f"{self.memory}. {self.request.script.request}" if self.memory else self.request.script.request


@cache
def asked(seed: int, number: int) -> Asked:
    """Draw a request by its number: the same in every process."""
    chance = random.Random(f"{seed}: {number}")
    request = draw(chance, Vocabulary("bench", KINDS, f"r{number} ", Persistent))
    memory = f"I prefer unit r{number}" if chance.random() < 0.2 else ""
    return Asked(request, memory)


class Desk(Script):
    """A model for all requests of a seed: who is answered follows from the number in the conversation."""

    def __init__(self, seed: int) -> None:
        super().__init__("", ())
        self.seed = seed

    def reply(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Write the message that a conversation gets, by the newest request in it."""
        texts = [str(one.get("content") or "") for one in messages if one["role"] == "user"]
        numbers = NUMBER.findall("\n".join(texts)) or NUMBER.findall(json.dumps(messages))
        if not numbers:
            return {"role": "assistant", "content": "That is done."}
        one = asked(self.seed, max(map(int, numbers)))
        if one.memory and str(messages[0]["content"]).startswith("Role: consolidate"):
            memory = {"said": one.memory, "text": one.memory, "tags": ["units"], "why": "a preference"}
            return {"role": "assistant", "content": json.dumps({"memories": [memory]})}
        return one.request.script.reply(messages, tools)
