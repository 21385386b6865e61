"""Whether the work of a lane bears its words out: judged by its calls and ledger rows first."""

from __future__ import annotations

from typing import Literal, NamedTuple

from planwright.critic import tasks, words
from planwright.domain.envelope import LaneCall, LaneEnvelope
from planwright.domain.plan import CLOSING, WHOLE

Flaw = Literal["no_effect", "no_evidence", "refused_in_words"]
FLAWS: tuple[Flaw, ...] = ("no_effect", "no_evidence", "refused_in_words")
NO_WORK = frozenset((*CLOSING, WHOLE))


class LaneJudgement(NamedTuple):
    """What is wrong with a lane that says it is done; no `flaw` where it is accepted, maybe with a remark."""

    flaw: Flaw | None = None
    """What is wrong; None where the work is accepted."""
    remark: str = ""
    """What is to be said of accepted work; "" for nothing."""


ACCEPTED = LaneJudgement()


def judge_lane(task: str, envelope: LaneEnvelope, inputs: int) -> LaneJudgement:
    """Accept or reject what a lane brings.

    `inputs` counts the results of earlier steps that it was given. An effect that was expected has to be on
    record, unless a person said no, a person is asked in its place, or its task holds only under a condition
    and what was looked at gave nothing to do. Where nothing was done, words that refuse the task are not
    taken for its result; `could not find` after a look is one.
    """
    if envelope.done:
        return ACCEPTED
    ended = {call.ended for call in envelope.calls if call.effect != "pure" or call.ended == "proposed"}
    if "rejected" in ended:
        return LaneJudgement(remark="nothing was done: a person said no, or did not answer in time")
    if "proposed" in ended:
        return LaneJudgement(remark="nothing was done yet: it was proposed to a person")
    reply, looks = envelope.result, inputs + sum(map(_a_look, envelope.calls))
    if _expects(task, envelope):
        return _without_effect(task, envelope, looks)
    if words.given_up(reply):
        return LaneJudgement("refused_in_words", f"it did nothing and gave up: {_quoted(reply)}")
    if words.not_able(reply) and not (looks and words.searched_in_vain(reply)) and not _looked_well(envelope):
        return LaneJudgement("refused_in_words", f"it did nothing and could not: {_quoted(reply)}")
    if not looks and tasks.expects_look(task, envelope.offered):
        return LaneJudgement("no_evidence", f"it has looked at nothing, and says: {_quoted(reply)}")
    return ACCEPTED


def _expects(task: str, envelope: LaneEnvelope) -> bool:
    """Say whether an effect is expected: by the task, by the tools, or because the words claim one."""
    claimed = bool(tasks.acting(envelope.offered)) and words.claims_own(envelope.result)
    return claimed or tasks.expects_effect(task, envelope.offered)


def _without_effect(task: str, envelope: LaneEnvelope, looks: int) -> LaneJudgement:
    """Judge a lane that should have had an effect and had none."""
    reply = envelope.result
    tried = any(call.effect != "pure" for call in envelope.calls)
    unable = words.not_able(reply) and not words.searched_in_vain(reply)
    if looks and not tried and not unable and tasks.conditional(task) and words.nothing_to_do(reply):
        return LaneJudgement(remark="its condition did not hold: nothing was done")
    if words.given_up(reply) or words.not_able(reply):
        return LaneJudgement("refused_in_words", f"nothing was done: {_quoted(reply)}")
    tools = ", ".join(tasks.acting(envelope.offered))
    return LaneJudgement("no_effect", f"no call of {tools} is done, and it says: {_quoted(reply)}")


def _a_look(call: LaneCall) -> bool:
    """Say whether a call brought something to lean on; what a person answers counts, too."""
    return call.ended == "completed" and (call.capability not in NO_WORK or call.capability == "clarify")


def _looked_well(envelope: LaneEnvelope) -> bool:
    """Say whether a lane has looked at something, and every look it tried came off in the end."""
    work_calls = [call for call in envelope.calls if call.capability not in NO_WORK]
    return bool(work_calls) and work_calls[-1].ended == "completed"


def _quoted(reply: str) -> str:
    short = " ".join(reply.split())
    return f'"{short if len(short) <= 160 else short[:159] + "…"}"'
