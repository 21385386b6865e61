"""What a message says: what is asked or has happened, and the command and the page that answer it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from planwright.approvals.cards import card_steps
from planwright.approvals.gate_words import describe_call, describe_gate
from planwright.domain.doubt import Doubt, how_to_decide
from planwright.presentation.doubt_lines import asked_lines
from planwright.presentation.printable import one_line, safe
from planwright.presentation.step_sentence import arguments_line, shown_arguments, step_sentence
from planwright.records.consent.gate import Gate
from planwright.records.notices import Notice
from planwright.records.runs import Run
from planwright.security.redaction.redactor import Redactor

LONGEST_HEAD = 150
LONGEST_LINE = 600
LONGEST_TEXT = 6_000
"""Letters of what a card or a run says in a message; all of it is on the page and in the terminal."""
_HEADS = {"gate_closing": "Decide until {}", "gate_climbed": "Nobody has decided yet"}
_ANSWERS = {"approve": "approve {}", "reject": "reject {}", "respond": 'respond {} "…"'}


@dataclass(frozen=True)
class NoticeMessage:
    """One message, however it is sent."""

    notice: Notice
    """What it is on."""
    head: str
    """Its subject, on one line."""
    text: str
    """What it says."""
    facts: dict[str, JsonValue] = field(default_factory=dict)
    """The same for programs."""


@dataclass(frozen=True)
class Writer:
    """Writes messages of one workspace: with its name, its page, and none of its secrets."""

    workspace: str
    """Name of the workspace."""
    page: str
    """Address of its page; "" for none."""
    redactor: Redactor
    """Hides secrets."""

    def of_gate(self, notice: Notice, gate: Gate) -> NoticeMessage:
        """Say what a gate asks, until when, and how it is answered."""
        ends = f"{gate.expires_at:%Y-%m-%d %H:%M:%S} UTC"
        does, _, more = describe_gate(gate).partition("\n")
        head = _HEADS.get(notice.kind, "A decision waits").format(ends)
        commands = [
            f"planwright {_ANSWERS[answer].format(gate.gate_id)}"
            for answer in gate.allowed
            if answer in _ANSWERS
        ]
        body = [does, *more.splitlines(), *_calls(gate)]
        facts: dict[str, JsonValue] = {
            "gate_id": gate.gate_id,
            "gate_kind": gate.kind,
            "thread_id": gate.thread_id,
            "expires_at": gate.expires_at.isoformat(),
            "hash": gate.answer_hash,
        }
        place = f"/approvals/{gate.gate_id}"
        return self._message(notice, f"{head}: {does}", [*body, "", f"Until {ends}:"], commands, place, facts)

    def with_link(self, message: NoticeMessage, person: str, token: str) -> NoticeMessage:
        """Add the link by which a person answers a gate without a sign-in."""
        link = f"{self.page.rstrip('/')}/answer/{token}"
        words = f"Or answer as {one_line(person)}, without a sign-in; pass this mail on to nobody:"
        return replace(message, text=f"{message.text}\n\n{words}\n  {link}")

    def of_doubt(self, notice: Notice, doubts: Sequence[Doubt]) -> NoticeMessage:
        """Say that nobody knows whether an effect happened, and how a person says it."""
        names = ", ".join(dict.fromkeys(doubt.capability for doubt in doubts))
        head = f"In doubt: did {names} happen?"
        body = [head, *asked_lines(doubts), "", f"{how_to_decide(notice.run_id)}".capitalize()]
        return self._message(notice, head, body, [], f"/runs/{notice.run_id}/doubts", {})

    def of_end(self, notice: Notice, run: Run) -> NoticeMessage:
        """Say how a run has ended, of what request, and with which words."""
        scheduled = notice.kind == "schedule_answered"
        head = f"{notice.addressee if scheduled else 'A run has failed'}: {run.request}"
        words = (run.answer or "").splitlines()
        facts: dict[str, JsonValue] = {"thread_id": run.thread_id, "status": run.status}
        facts |= {"schedule": notice.addressee, "answer": run.answer} if scheduled else {}
        commands = [f"planwright show {run.run_id}"]
        return self._message(
            notice, head, [head, *words, f"It ended as {run.status}."], commands, f"/runs/{run.run_id}", facts
        )

    def _message(
        self,
        notice: Notice,
        head: str,
        body: Sequence[str],
        commands: Sequence[str],
        place: str,
        facts: dict[str, JsonValue],
    ) -> NoticeMessage:
        link = f"{self.page.rstrip('/')}{place}" if self.page else ""
        lines = "\n".join(self._cut(safe(line), LONGEST_LINE) for line in body)
        foot = ["", f"run {notice.run_id} of {one_line(self.workspace)}, message {notice.notice_id}"]
        ways = [*(f"  {command}" for command in commands), *([f"  {link}"] if link else [])]
        text = "\n".join([self._cut(lines, LONGEST_TEXT), *ways, *foot])
        every: dict[str, JsonValue] = {**facts, "commands": list(commands), "link": link or None}
        return NoticeMessage(notice, self._cut(one_line(head), LONGEST_HEAD), text, every)

    def _cut(self, text: str, most: int) -> str:
        return self.redactor.beginning(text, most)


def _calls(gate: Gate) -> Iterator[str]:
    """Say on a line each what would be called, with which values."""
    if gate.kind == "plan":
        for step in card_steps(gate.card):
            if step.get("effect") != "pure":
                sentence = step_sentence(step)
                yield f"- {step['id']}: {sentence.text}"
                yield from filter(None, [arguments_line(sentence.rest, sentence.known)])
        return
    several = len(gate.calls) > 1
    for call in gate.calls:
        args = call.get("args")
        if several:
            yield f"- {describe_call(call)}"
        if isinstance(args, dict) and (line := arguments_line(shown_arguments(args, call), args)):
            yield f"  {line}"
