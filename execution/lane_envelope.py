"""The envelope of a lane: made from its conversation and the records when its loop has ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from planwright.capabilities.policy.consent import DENIES
from planwright.capabilities.registry import Registry
from planwright.critic.lane_rules import NO_WORK
from planwright.domain.envelope import CallEnd, LaneCall, LaneEnvelope, LaneUsage, Offer
from planwright.domain.errors import CapabilityForbidden
from planwright.records.effects.work_records import RecordedCall, RunWork, WorkRecords
from planwright.state.loop_state import LoopTask

CLIP = 200
DENIED = (DENIES, f"{CapabilityForbidden.code}:")


class Envelopes:
    """Put together what lanes hand over."""

    def __init__(self, work: WorkRecords, registry: Registry) -> None:
        self._work = work
        self._registry = registry

    async def of(self, loop: LoopTask, ended: Mapping[str, Any], run_id: str) -> LaneEnvelope:
        """Read the work of a loop that has ended; `ended` is what its graph returned."""
        work = await self._work.of_run(run_id)
        return envelope(loop, ended, work, offered(loop.tools, self._registry))


def envelope(
    loop: LoopTask, ended: Mapping[str, Any], work: RunWork, tools: Mapping[str, Offer]
) -> LaneEnvelope:
    """Make the envelope of a loop from its end and from the records of its run."""
    replies = replies_of(loop.lane, ended.get("conversation", ()))
    calls = list(lane_calls(loop.lane, replies, ended.get("conversation", ()), work))
    usage = LaneUsage(turns=len(replies), calls=len(calls), tokens=sum(map(_tokens, replies)))
    return LaneEnvelope(
        result=ended["outcome"].text,
        offered=dict(tools),
        calls=tuple(calls),
        effects=work.under(loop.lane),
        evidence=tuple(
            call.uid for call in calls if call.ended == "completed" and call.capability not in NO_WORK
        ),
        usage=usage,
        guard_trips=tuple(dict.fromkeys(":".join(key.split(":")[:2]) for key in ended.get("tripped", ()))),
    )


def offered(names: Iterable[str], registry: Registry) -> dict[str, Offer]:
    """Say of each tool what a call of it can change."""
    tools = ((name, registry.get(name)) for name in names)
    return {name: "varies" if tool.varies else tool.effect for name, tool in tools if tool is not None}


def replies_of(lane: str, conversation: Sequence[AnyMessage]) -> list[AIMessage]:
    """List the replies of the model of a lane, which are named by lane and turn."""
    return [
        message
        for message in conversation
        if isinstance(message, AIMessage) and str(message.id).startswith(f"{lane}_")
    ]


def lane_calls(
    lane: str, replies: Sequence[AIMessage], conversation: Sequence[AnyMessage], work: RunWork
) -> Iterable[LaneCall]:
    """Say of each call of some replies how it ended, by its record and by what the model was told."""
    answers = {message.tool_call_id: message for message in conversation if isinstance(message, ToolMessage)}
    on_record = work.by_id(lane)
    for reply in replies:
        turn = str(reply.id).removeprefix(f"{lane}_")
        for index, call in enumerate(reply.tool_calls):
            record, answer = on_record.get(f"{lane}.{turn}.{index}"), answers.get(str(call["id"]))
            ended = call_end(record, answer, work)
            yield LaneCall(
                capability=record.capability if record else call["name"].replace("__", "."),
                uid=record.uid if record else "",
                effect=record.effect if record else "pure",
                ended=ended,
                error="" if answer is None or ended == "completed" else answer.text[:CLIP],
            )


def call_end(record: RecordedCall | None, answer: ToolMessage | None, work: RunWork) -> CallEnd:
    """Name the end of one call."""
    completed = answer is not None and answer.status == "success"
    if record is None and completed:
        return "proposed"
    if record is not None and record.gate_subject in work.rejected:
        return "rejected"
    if completed:
        return "completed"
    if answer is not None and answer.text.startswith(DENIED):
        return "denied"
    return "refused" if record is None else "failed"


def _tokens(reply: AIMessage) -> int:
    return reply.usage_metadata["total_tokens"] if reply.usage_metadata else 0
