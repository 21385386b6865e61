"""Forty parts of one reply: so many lanes ask their model at the same time as may be open, and no more."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE_S
from tests.wire.asking import ask, provider, settings_for
from tests.wire.conftest import Serve
from tests.wire.scripted_server import Reply, Request, calls, says

pytestmark = pytest.mark.enable_socket

LIMIT, PARTS, DEEPER = 3, 40, 4
DELEGATE = "agent__delegate"


class Desk:
    """Answers as the model of every lane, and counts those that ask at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._full, self._too_many = threading.Event(), threading.Event()
        self.asking = self.most = self.asked = 0

    def reply(self, body: str, request: Request) -> str:
        """Delegate where the request says so; the first lanes wait until as many ask as may."""
        task = request.sent("user")
        if request.sent("tool"):
            return says("done").body
        if "PART" not in task and "INNER" not in task:
            return delegations("PART", PARTS)
        with self._lock:
            self.asking, self.asked = self.asking + 1, self.asked + 1
            self.most = max(self.most, self.asking)
            for reached, count in ((self._full, LIMIT), (self._too_many, LIMIT + 1)):
                if self.asking == count:
                    reached.set()
        assert self._full.wait(PATIENCE_S)
        if self.asked <= LIMIT:
            self._too_many.wait(0.5)  # only to catch those that should not be there
        with self._lock:
            self.asking -= 1
        number = int(task.split("PART ")[1].split(".")[0]) if "PART" in task else PARTS
        return delegations("INNER", 2) if number < DEEPER else says("a part is done").body


def delegations(name: str, count: int) -> str:
    """Write a reply that delegates so many parts at once."""
    tools = ["files.list", "agent.delegate"]
    listed = [calls(DELEGATE, {"task": f"{name} {n}.", "tools": tools}) for n in range(count)]
    replies: list[dict[str, Any]] = [json.loads(reply.body) for reply in listed]
    made = [reply["choices"][0]["message"]["tool_calls"][0] for reply in replies]
    for number, call in enumerate(made):
        call["id"] = f"call_{number}"
    replies[0]["choices"][0]["message"]["tool_calls"] = made
    return json.dumps(replies[0])


def test_no_more_lanes_work_at_once_than_may_and_lanes_within_lanes_go_on(
    workspace: Path, serve: Serve
) -> None:
    desk = Desk()
    server = serve(Reply(body=says("").body, fills=desk.reply))
    settings = settings_for(
        workspace,
        {"scripted": provider(server)},
        planning={"mode": "never"},
        execution={"max_parallel_steps": LIMIT},
        approval={"risk": "Critical"},
    )
    ended = ask(settings, "Delegate it to agents: list the files")
    assert ended.status == "completed"
    assert desk.most == LIMIT
    assert desk.asked == PARTS + 2 * DEEPER
