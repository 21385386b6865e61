"""What is said to the server, and what has to be on record afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from tests.cli.desk import Desk


@dataclass(frozen=True)
class Decision:
    """One answer to the gate of a plan that writes one file, and what it has to lead to."""

    name: str
    resume: dict[str, Any]
    status: str
    gate: str
    writes: bool

    def __str__(self) -> str:
        return self.name


DECISIONS = [
    Decision("approve", {"decisions": [{"type": "approve"}]}, "completed", "approved", True),
    Decision("reject", {"decisions": [{"type": "reject", "message": ""}]}, "rejected", "rejected", False),
]
APPROVE = DECISIONS[0].resume


def edited(shown: dict[str, Any], text: str) -> dict[str, Any]:
    """Answer with the plan that was shown, but with another text to write."""
    steps = [{**step, "params": {**step["params"], "text": text}} for step in shown["steps"]]
    action = {"name": "approve_plan", "args": {"plan": {**shown, "steps": steps}}}
    return {"decisions": [{"type": "edit", "edited_action": action}]}


@dataclass(frozen=True)
class Errand:
    """A request that writes a file of its own, so that tests can share a workspace."""

    name: str = field(default_factory=lambda: f"note-{uuid4().hex[:8]}.md")

    @property
    def request(self) -> str:
        """What to ask for; its plan has one step and needs approval."""
        return f"Save hello to {self.name}"

    @property
    def input(self) -> dict[str, Any]:
        """The request as the input of a run."""
        return {"messages": [{"role": "user", "content": self.request}]}

    def is_done(self, desk: Desk, text: str = "hello") -> bool:
        """Say whether the file was written."""
        path = desk.folder / self.name
        return path.exists() and path.read_text("utf-8") == text


@dataclass(frozen=True)
class Trace:
    """What the workspace has on record of a thread."""

    status: str
    gates: list[tuple[str, str]]
    resolved: int
    executions: list[int]


def trace(desk: Desk, thread: str) -> Trace:
    """Read the run's status, its gates (how decided, through which channel), and count what happened.

    `executions` counts the executions of each step, by journal and by ledger.
    """
    where = f"WHERE thread_id = '{thread}'"
    ((status,),) = desk.rows(f"SELECT status FROM runs {where}")
    decided = "iif(status = 'open', '', channel)"  # until then it names the channel of the request
    gates = desk.rows(f"SELECT status, {decided} FROM gates {where} ORDER BY requested_at")
    ((resolved,),) = desk.rows(f"SELECT count(*) FROM journal {where} AND type = 'approval_resolved'")
    step = "json_extract(data, '$.step_id')"
    started = desk.rows(f"SELECT count(*) FROM journal {where} AND type = 'plan_step_start' GROUP BY {step}")
    effects = desk.rows(f"SELECT count(*) FROM effects {where} AND status = 'done' GROUP BY step_uid")
    return Trace(status, [(a, b) for a, b in gates], resolved, [n for (n,) in [*started, *effects]])
