"""Questions that a function asks in the middle of its call: each is a gate, and its answer is on record.

A call that asked is made again, from its start, with all that was answered so far.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue

from planwright.approvals.gate import GateQuestion, emit_request, open_gate, wait_for_decision
from planwright.capabilities.encoding import as_json
from planwright.capabilities.gateway.call_site import CallSite
from planwright.domain.errors import BudgetExceeded, CapabilityForbidden, CapabilityRejected
from planwright.domain.hashing import json_text, sha256
from planwright.domain.verified_step import VerifiedStep
from planwright.records.consent.call_question import QUESTION, CallAsks, typed_words, value_of, words_of
from planwright.records.consent.gate import Gate, gate_id
from planwright.records.consent.gates import Gates
from planwright.settings.settings import Settings
from planwright.state.invocation import Invocation

_WORDS = ("question", "description", "message", "query", "prompt")
"""Where a question that is a mapping has its words, as tools of LangChain write them."""
_BY = "decided_by"


class _Spelled(dict[str, object]):
    """A decision whose words are spelled as the function is to read them: they are not spelled once more."""


class CallQuestions:
    """Make calls that may ask, and put what they ask to a person."""

    def __init__(self, gates: Gates, settings: Settings) -> None:
        self._gates = gates
        self._settings = settings

    async def answered(
        self,
        site: CallSite,
        call: Callable[[CallSite], Awaitable[JsonValue]],
        invocation: Invocation,
    ) -> JsonValue:
        """Make a call, and make it again with what a person says whenever it asks.

        So it is with what a person gives where a limit is reached. Raises CapabilityForbidden where nobody
        answers, CapabilityRejected where the function does not take the answer, BudgetExceeded at a limit.
        """
        checked, answers = site.checked, tuple[JsonValue, ...]()
        while invocation.has_sent("approval_requested", _gate_id(checked, len(answers), invocation)):
            answers += (await self._answer(checked, len(answers), invocation),)
        while True:
            try:
                invocation.check_time()
                return await call(replace(site, profile=invocation.profile, answers=answers))
            except BudgetExceeded as error:
                if not await invocation.goes_on_after(error):
                    raise
                continue
            except CallAsks as asks:
                if asks.refused:
                    raise CapabilityRejected(f"the answer is not taken: {asks.refused}") from asks
                await self._open(checked, asks, len(answers), invocation)
            answers += (await self._answer(checked, len(answers), invocation),)

    async def _open(self, checked: VerifiedStep, asks: CallAsks, number: int, invocation: Invocation) -> None:
        id_, card = _gate_id(checked, number, invocation), question_card(checked, asks)
        question = GateQuestion(id_, card, sha256(card), "info", checked.gate_subject)
        gate = await self._gates.open(open_gate(invocation, self._settings, question), invocation.lease)
        emit_request(gate, invocation)

    async def _answer(self, checked: VerifiedStep, number: int, invocation: Invocation) -> JsonValue:
        gate = await wait_for_decision(self._gates, _gate_id(checked, number, invocation), invocation)
        if gate.status == "responded":
            return value_of(gate.reason or "")
        raise CapabilityForbidden(f"{checked.step.capability} asked, and got no answer: {_why(gate)}")


def as_decision(answer: object, gates: Sequence[Gate], ids: Collection[str]) -> object:
    """Make the value that answers the one open question of a call a decision; leave what is one.

    As in LangGraph, any value is an answer; `{"decisions": [{"type": "reject"}]}` gives none. What names a
    gate or an interrupt, by one of `ids`, is left, too.
    """
    if isinstance(answer, _Spelled) or len(gates) != 1 or QUESTION not in gates[0].card:
        return answer
    if _is_decision(answer, ids):
        return _typed(answer, gates[0])
    value, person = _unsigned(answer)
    return _Spelled(
        {"type": "respond", "message": words_of(as_json(value)), **({_BY: person} if person else {})}
    )


def _typed(answer: object, gate: Gate) -> object:
    """Spell the words of a response as the function is to read them."""
    if not isinstance(answer, Mapping):
        return answer
    if isinstance(decisions := answer.get("decisions"), list):
        return _Spelled({**answer, "decisions": [_typed(decision, gate) for decision in decisions]})
    words = answer.get("message") or answer.get("reason")
    if answer.get("type") not in ("respond", "response") or not isinstance(words, str):
        return answer
    rest = {name: value for name, value in answer.items() if name != "reason"}
    return _Spelled({**rest, "message": typed_words(gate.card, words)})


def _is_decision(answer: object, ids: Collection[str]) -> bool:
    if not isinstance(answer, Mapping):
        return False
    names = {"type", "message", "reason", "gate_id", _BY, "plan_hash"}
    typed = answer.get("type") in ("respond", "reject") and answer.keys() <= names
    return "decisions" in answer or typed or bool(answer.keys() & set(ids))


def _unsigned(answer: object) -> tuple[object, str]:
    """Take the name that a door has put to an answer, and to each part of it, off again."""
    if isinstance(answer, list | tuple):
        parts = [_unsigned(part) if isinstance(part, Mapping) else (part, "") for part in answer]
        return [value for value, _ in parts], next((by for _, by in parts if by), "")
    if not isinstance(answer, Mapping):
        return answer, ""
    if answer.keys() == {"type", _BY}:
        return answer["type"], str(answer[_BY])
    if _BY in answer:
        return {name: value for name, value in answer.items() if name != _BY}, str(answer[_BY])
    parts_by_name = {name: _unsigned(value) for name, value in answer.items()}
    by = next((by for _, by in parts_by_name.values() if by), "")
    return {name: value for name, (value, _) in parts_by_name.items()}, by


def question_card(checked: VerifiedStep, asks: CallAsks) -> dict[str, JsonValue]:
    """Show what a call asks, and of which call; the question of others is shown as it is."""
    question: dict[str, JsonValue] = {"value": asks.question, "schema": asks.schema}
    return {
        "capability": checked.step.capability,
        "step_id": checked.step.id,
        "uid": checked.uid,
        "description": f"{checked.step.capability} asks before it goes on. {checked.step.description}",
        "args": {"questions": [question_words(asks.question)]},
        "risk": checked.risk,
        "mode": checked.mode,
        "effect": checked.effect,
        "reason": "it asks in the middle of its call, which is made again from its start",
        QUESTION: question,
    }


def question_words(question: JsonValue) -> str:
    """Find the words of a question; one that has none is shown whole."""
    value = question[0] if isinstance(question, list) and len(question) == 1 else question
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        return json_text(value)
    texts = (value.get(name) for name in _WORDS)
    words = next((text for text in texts if isinstance(text, str) and text.strip()), "")
    rest = {name: part for name, part in value.items() if part is not None and part != words}
    return " ".join([*([words] if words else ()), *([json_text(rest)] if rest else ())])


def _gate_id(checked: VerifiedStep, number: int, invocation: Invocation) -> str:
    return gate_id(invocation.run_id, "info", f"{checked.uid}:{number}")


def _why(gate: Gate) -> str:
    if gate.status == "expired":
        return "nobody answered in time"
    return f"{gate.status} by {gate.decided_by}{': ' if gate.reason else ''}{gate.reason or ''}"
