"""What people have said a tool may do that says nothing about it itself: once, with an approval, for good.

`tools.jsonl` holds one answer a line, made to be read and cut. An answer holds for the code that it was given
for; a line that cannot be read answers nothing, so that the tool asks as one of which nothing is known.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from pydantic import ConfigDict, JsonValue

from planwright.domain.errors import SetupError, StoreFailed
from planwright.domain.risk import RISK_OF_MODE, Mode, Risk
from planwright.records.consent.approval_scope import ToolMay
from planwright.records.consent.gate import Gate, digest_on
from planwright.records.consent.line_file import FileLine, LineFile

_LOG = logging.getLogger("planwright.checkpoints")
FILE_NAME, TOOL = "tools.jsonl", "tool_"
_MODES: dict[ToolMay, Mode] = {
    "reads": "read_only",
    "asks": "delegated",
    "asks_once": "delegated",
    "always_asks": "destructive",
}


class ToolAnswer(FileLine):
    """What one person said of one tool."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    """Name of the answer, as commands take it."""
    capability: str
    """Name of the tool."""
    may: ToolMay
    """What it may do."""
    tenant: str
    """For whose calls it holds."""
    given_by: str
    """Who gave it."""
    given_at: str
    """When it was given, in ISO 8601."""
    code: str
    """Digest of the tool that it was given for."""

    @property
    def mode(self) -> Mode:
        """The mode that a tool has by it."""
        return _MODES[self.may]

    @property
    def risk(self) -> Risk:
        """The risk that a tool has by it."""
        return RISK_OF_MODE[self.mode]


class ToolAnswers:
    """The answers of one workspace."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._file = LineFile(
            self.path,
            ToolAnswer,
            noun="answer about a tool",
            unreadable="every tool asks that says nothing",
            listing="planwright rules ls",
        )

    def read(self) -> list[ToolAnswer]:
        """Read all answers. Raises SetupError, naming the line, for one that is none."""
        return self._file.read()

    def answer_for(self, name: str, tenant: str, code: str) -> ToolAnswer | None:
        """Find the last answer about a tool of this code; none while the file cannot be read."""
        try:
            answers = self.read()
        except SetupError:
            return None
        wanted = (name, tenant, code)
        latest = (each for each in reversed(answers) if (each.capability, each.tenant, each.code) == wanted)
        return next(latest, None)

    def covering(self, gate: Gate, call: Mapping[str, JsonValue]) -> ToolAnswer | None:
        """Find the answer that the tool of a call only reads, given since its card was made."""
        if not call.get("undeclared") or call.get("done_before"):
            return None
        answer = self.answer_for(str(call.get("capability")), gate.tenant, digest_on(call))
        return answer if answer is not None and answer.may == "reads" else None

    def remember(self, gate: Gate) -> None:
        """Write down what was said of tools with the answer to a gate, once.

        What cannot be written is warned of: the gate is approved all the same, and the tools ask again.
        """
        try:
            if answers := answers_of(gate):
                self._file.append(answers)
        except (SetupError, StoreFailed) as error:
            _LOG.warning("%s is approved, what its tools may do is not kept: %s", gate.gate_id, error)

    def revoke(self, id_: str) -> ToolAnswer:
        """Take an answer out of the file. Raises SetupError when there is none of that name."""
        return self._file.remove(id_)


def answers_of(gate: Gate) -> list[ToolAnswer]:
    """Make the answers that a person gave with an approval, one for each tool that they spoke of."""
    if gate.remembered is None or gate.status != "approved":
        return []
    undeclared = gate.undeclared
    return [
        ToolAnswer(
            id=f"{TOOL}{gate.gate_id.removeprefix('gate_')}_{number}",
            capability=name,
            may=may,
            tenant=gate.tenant,
            given_by=gate.decided_by or "",
            given_at=gate.decided_at.isoformat() if gate.decided_at else "",
            code=undeclared[name],
        )
        for number, (name, may) in enumerate(sorted(gate.remembered.tools.items()))
        if name in undeclared
    ]
