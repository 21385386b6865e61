"""llm_invoker: one turn of the model. Its reply is durable before the first of its calls is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig

from planwright.domain.errors import (
    ContextOverflow,
    LimitExceeded,
    ModelCancelled,
    ModelError,
    ModelInterrupted,
    SetupError,
)
from planwright.execution.grants import LoopTools
from planwright.execution.tool_calls import record_calls, schemas, with_shared_gate
from planwright.execution.tool_offer import answer_searches, search_schema
from planwright.models.calling import Models
from planwright.models.conversation.answer import emit_messages
from planwright.models.conversation.final_text import (
    NOT_CALLED,
    at_a_limit,
    closing_words,
    ending_with_questions,
    limit_met,
    part,
    without_call,
)
from planwright.models.conversation.history import normalise, repair
from planwright.models.conversation.shortening import Shortening
from planwright.models.conversation.thread_messages import last_results
from planwright.models.model_calls import ChatPrompt
from planwright.models.replies.written_calls import written_call
from planwright.planning.reply_order import in_stages
from planwright.prompts import instructed
from planwright.state.compaction import visible_messages
from planwright.state.invocation import Invocation, invocation_of
from planwright.state.loop_state import LoopOutcome, LoopState, LoopTask, LoopUpdate, ToolCall, calls_in_doubt
from planwright.state.node import Node

PROGRESS_EVERY = 10
ASK_ALONE = "not asked: put your questions alone, when the other calls have returned"


def llm_invoker(models: Models, own: LoopTools, shortening: Shortening) -> Node[LoopState, LoopUpdate]:
    """Ask the model, verify the calls of its reply, and put them on record."""

    async def llm_invoker(state: LoopState, config: RunnableConfig) -> LoopUpdate:
        invocation, loop = invocation_of(config), state["loop"]
        if calls_in_doubt(state):
            return {}  # a person is asked first
        turn, profile = state.get("turn", 0) + 1, invocation.profile
        if stopped := _stopped(turn, loop, invocation):
            return {"outcome": stopped}
        granted = await own.granted(state, invocation)
        tools = await own.named(granted, invocation)
        steering, world = _steering(state, turn), await own.reader.surroundings(granted, invocation)
        prompt = _prompt(state, steering, profile.instructions, world)
        key, fitted = f"{loop.lane}.{turn}", state.get("fitted") == turn
        wire = [*schemas(tools), *search_schema(granted)]
        if not fitted and shortening.needed(prompt, loop.route, wire):
            return {"crowded": True}
        chat = ChatPrompt("agent", prompt, wire, place=await _stage(state, invocation, config))
        try:
            reply, notes = await _ask(models, chat, key, loop, invocation)
        except (LimitExceeded, ModelError, SetupError) as error:
            if await invocation.goes_on_after(error):
                return await llm_invoker(state, config)
            crowded = isinstance(error, ContextOverflow) and not fitted
            return {"crowded": True} if crowded else {"outcome": without_reply(error)}
        clean, wrong = normalise(reply, f"{loop.lane}_{turn}", call_ids(state["conversation"]))
        if limit := limit_met(state["conversation"]):
            return _ended(at_a_limit(limit, clean.text), clean.text, clean, steering, turn)
        tainted = bool(clean.tool_calls) and await own.tainted(granted, tools, loop, invocation)
        verifier = await own.verifier(state, invocation)
        read = await verifier.read(clean, wrong, tools, key, verifier.asking(invocation, tainted=tainted))
        if question := _question(loop, read, clean):
            return _ended(question, question.text, clean, [*steering, *notes], turn)
        allowed = own.reader.registry.within(profile)
        read, added = answer_searches(_asking_alone(loop, read), clean, allowed, loop.goal, granted)
        calls = in_stages(with_shared_gate(await own.to_make(read, invocation), key))
        return {
            "conversation": [*steering, *notes, clean],
            "turn": turn,
            "calls": calls,
            "stage": 0,
            "batch": await record_calls(calls, loop.goal, key, own.stores.plans, invocation),
            "made": [*state.get("made", []), *(call.signature for call in calls)],
            "steering": "",
            "added": [*state.get("added", []), *added],
            **({} if calls else {"outcome": _closing(reply, clean.text, chat)}),
        }

    return llm_invoker


async def _stage(
    state: LoopState, invocation: Invocation, config: RunnableConfig
) -> Mapping[str, object] | None:
    """Name the node as whose words the main loop streams; what its last calls brought goes first."""
    if state["loop"].lane != "main":
        return None
    results = last_results(state["conversation"], invocation.run_id)
    await emit_messages(results, config, invocation.front)
    return invocation.front


def _ended(
    outcome: LoopOutcome, text: str, reply: AIMessage, before: Sequence[AnyMessage], turn: int
) -> LoopUpdate:
    """End a loop with words in the place of a reply; its calls are not made."""
    return {"conversation": [*before, AIMessage(text, id=reply.id)], "turn": turn, "outcome": outcome}


def _question(loop: LoopTask, calls: Sequence[ToolCall], reply: AIMessage) -> LoopOutcome | None:
    """End the main loop with the questions that a reply puts, where it does nothing else."""
    if loop.lane != "main" or len(calls) != 1 or not calls[0].asks:
        return None
    return ending_with_questions(reply.text, calls[0].step.step.params.get("questions"))


def _asking_alone(loop: LoopTask, calls: list[ToolCall]) -> list[ToolCall]:
    """Leave out of a reply of the main loop the questions that it puts beside other calls."""
    if loop.lane != "main":
        return calls
    alone = {"error": ASK_ALONE, "unverified": ""}
    beside = len(calls) > 1
    return [
        call.model_copy(update=alone) if call.asks or (beside and call.name == "clarify") else call
        for call in calls
    ]


def _prompt(
    state: LoopState, steering: Sequence[AnyMessage], instructions: str, surroundings: str
) -> list[AnyMessage]:
    """Show the model its instructions, where it works, and of the conversation what is not left out."""
    seen = repair([*visible_messages(state["conversation"], state.get("compacted")), *steering])
    return [SystemMessage(f"{instructed('agent', instructions)}\n{surroundings}"), *seen]


async def _ask(
    models: Models, chat: ChatPrompt, key: str, loop: LoopTask, invocation: Invocation
) -> tuple[AIMessage, list[AnyMessage]]:
    """Ask the model; once more where it writes a call as text, with what it was told of that."""
    reply = await models.chat(loop.route, chat, invocation, key, loop.budgets)
    name = written_call(reply.text, chat.tools)
    if not name or reply.tool_calls or reply.invalid_tool_calls:
        return reply, []
    notes: list[AnyMessage] = [
        AIMessage(reply.text, id=f"{key}_written"),
        HumanMessage(NOT_CALLED.format(name=name), id=f"{key}_told"),
    ]
    again = replace(chat, messages=[*chat.messages, *notes])
    return await models.chat(loop.route, again, invocation, f"{key}.again", loop.budgets), notes


def _closing(reply: AIMessage, text: str, chat: ChatPrompt) -> LoopOutcome:
    """End a loop with the words of its model; a call in words is none, and completes nothing."""
    return without_call(text) if written_call(reply.text, chat.tools) else closing_words(reply, text)


def _stopped(turn: int, loop: LoopTask, invocation: Invocation) -> LoopOutcome | None:
    """End a loop that was cancelled, or has had all its turns; tell of one that goes on for long."""
    of_agent = invocation.profile.max_tool_iterations
    most = min(of_agent, loop.max_turns or of_agent)
    if invocation.cancelled_by:
        text = f"Cancelled by {invocation.cancelled_by} after {turn - 1} turns."
        return LoopOutcome(status="cancelled", code="cancelled", text=text)
    if turn > most:
        text = f"stopped after {most} turns ({invocation.profile.setting('max_tool_iterations')})"
        return LoopOutcome(status="failed", code="max_tool_iterations", text=text)
    if turn % PROGRESS_EVERY == 0:
        invocation.emit("progress", {"lane": loop.lane, "turn": turn, "of": most}, f"{loop.lane}:{turn}")
    return None


def without_reply(error: LimitExceeded | ModelError | SetupError) -> LoopOutcome:
    """End a loop whose model did not answer; what was heard of a reply that broke off is told as a part."""
    if isinstance(error, LimitExceeded):
        return LoopOutcome(status="budget_exceeded", code=error.limit, text=str(error))
    if isinstance(error, ModelCancelled):
        return LoopOutcome(status="cancelled", code="cancelled", text=str(error))
    if isinstance(error, ModelInterrupted):
        return LoopOutcome(status="failed", code="model", text=part(error.partial, str(error)))
    return LoopOutcome(status="failed", code="model", text=str(error))


def call_ids(conversation: list[AnyMessage]) -> set[str]:
    """List the ids of every call that was made so far, or that somebody has brought a result for."""
    replies = (message for message in conversation if isinstance(message, AIMessage))
    results = {message.tool_call_id for message in conversation if isinstance(message, ToolMessage)}
    return results | {str(call["id"]) for reply in replies for call in reply.tool_calls}


def _steering(state: LoopState, turn: int) -> list[AnyMessage]:
    text = state.get("steering", "")
    return [HumanMessage(f"[loop guard] {text}", id=f"{state['loop'].lane}_{turn}_steering")] if text else []
