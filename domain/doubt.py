"""An effect in doubt: sent, perhaps, and nobody knows whether it happened. A person says so, one by one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool

from planwright.domain.errors import EffectInDoubt, GateError

SHOWN_KEY, FEWEST_DIGITS = 12, 4
FIND_OUT = "look at its receiver for these values, at about that time"
"""How to find out whether an effect happened of which its capability does not say more."""
NOBODY_KNOWS = "nobody knows whether it happened"
"""Why a person is asked about effects in doubt."""
CONFIRMED, DENIED = "confirmed", "did_not_happen"
"""The codes of a step whose effect a person has decided over: it happened, or it did not."""
UNDECIDED = "undecided"
"""The code of a step that ended while nobody had decided over an effect of it."""
_DENIAL = re.compile(
    r"(?i)\bno\b(?!\W{0,2}\d)|\b(?:not|never|none|nothing|nobody|neither|nope|cannot|nowhere|nein|nicht|unsent|failed"
    r"|bounced|rejected|refused|denied|(?:did|was|has|is|were|would|could)n\W?t)\b"
)


class Doubt(BaseModel):
    """One effect whose intent is on record, and nothing of how it ended."""

    model_config = ConfigDict(frozen=True)
    key: str
    """Idempotency key of the effect, 64 hex digits."""
    uid: str
    """Uid of the step or call that has the effect."""
    step_id: str
    """Id of that step or call, as people read it."""
    capability: str
    """Name of the capability that was called."""
    args: dict[str, JsonValue]
    """Arguments of the call, as recorded."""
    sent_at: str
    """When the intent was written down: UTC, in ISO 8601."""
    why: str
    """Why nobody knows how it ended, in words."""
    find_out: str = FIND_OUT
    """How to find out whether it happened, in words."""
    still_sent_by: str = ""
    """Process that lives and may be sending it now, as people read it; "" for none."""

    @property
    def name(self) -> str:
        """Name it in a few words: capability, and the beginning of its key."""
        return f"{self.capability} (key {self.key[:SHOWN_KEY]})"


class EffectAnswer(BaseModel):
    """What a person says of one effect; `key` may be shortened as long as it fits no other."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    key: str = Field(min_length=FEWEST_DIGITS, max_length=64)
    """Idempotency key of the effect, or as much of its beginning as fits no other."""
    happened: StrictBool
    """Whether the effect has happened, as the person found out."""
    result: JsonValue = None
    """What the call would have returned; None where it brought nothing, or did not happen."""


def every_one(doubts: Sequence[Doubt], answers: Sequence[EffectAnswer], how: str) -> tuple[EffectAnswer, ...]:
    """Match answers to effects; each comes back with its whole key, in the order of the effects.

    Raises GateError for a key that fits none or several, for one decided twice, and for effects left out;
    `how` is the command that decides over them.
    """
    decided: dict[str, EffectAnswer] = {}
    for answer in answers:
        fitting = [doubt.key for doubt in doubts if doubt.key.startswith(answer.key.rstrip("…").lower())]
        if len(fitting) != 1:
            why = "fits no effect in doubt here" if not fitting else "fits several effects: write more of it"
            raise GateError(f"the key {answer.key!a} {why}", f"in doubt: {_keys(doubts)}")
        if fitting[0] in decided:
            raise GateError(f"the key {answer.key!a} is decided twice", "say once whether it happened")
        decided[fitting[0]] = answer.model_copy(update={"key": fitting[0]})
    if missing := [doubt for doubt in doubts if doubt.key not in decided]:
        left_out = ", ".join(doubt.name for doubt in missing)
        raise GateError(f"the answer does not say whether these happened: {left_out}", how)
    return tuple(decided[doubt.key] for doubt in doubts)


def recorded_answers(
    doubts: Sequence[Doubt], word: str, reason: str, answers: Sequence[EffectAnswer], how: str
) -> tuple[EffectAnswer, ...]:
    """Read what the answer to a gate says of the effects on its card; nothing when it was rejected.

    With one effect, `approve` says that it did not happen, and a `respond` in words that it did, with them as
    its result. Raises GateError like `every_one`, and for words that say no, as they are no result.
    """
    if answers and not doubts:
        raise GateError("no effect is in doubt at this gate", "leave `effects` out")
    if word == "reject" or not doubts:
        return ()
    if len(doubts) == 1 and not answers:
        happened = word == "respond"
        result = read_result(reason) if happened else None
        if result == {"text": reason} and _DENIAL.search(reason.replace("_", " ")):
            raise GateError(f"{reason[:100]!a} would be written down as what {doubts[0].name} brought", how)
        answers = [EffectAnswer(key=doubts[0].key, happened=happened, result=result)]
    return every_one(doubts, answers, how)


def check_denied(doubts: Iterable[Doubt]) -> None:
    """Raise GateError for effects that are said not to have happened and that may happen yet.

    They are as the record has them when the answer is taken; a card may be older than that.
    """
    if sending := [doubt for doubt in doubts if doubt.still_sent_by]:
        names = ", ".join(f"{doubt.name} by {doubt.still_sent_by}" for doubt in sending)
        raise GateError(
            f"this may still be sent: {names}", "end that process, or wait for it; then decide again"
        )


def read_result(words: str) -> JsonValue:
    """Read what an effect brought: an object or a list of JSON where it is one, else words."""
    try:
        value: JsonValue = json.loads(words)
    except (ValueError, RecursionError):
        return {"text": words}
    return value if isinstance(value, dict | list) else {"text": words}


def recorded_doubt(error: EffectInDoubt) -> str:
    """Spell for the ledger why nobody knows, on one line, and on the next how to find out."""
    return f"{' '.join(error.cause.split())}\n{error.next_step or FIND_OUT}"


def nobody_knows(capability: str) -> str:
    """Begin the sentence that says why nobody knows of a call whether it happened."""
    return f"nobody knows whether {capability} happened: "


def how_to_decide(name: str) -> str:
    """Spell the command that decides over effects one by one, at a gate or of a run."""
    return f"say it of each: planwright respond {name} --happened KEY[=RESULT] --not-happened KEY"


def _keys(doubts: Iterable[Doubt]) -> str:
    return ", ".join(doubt.name for doubt in doubts) or "nothing"
