"""What pages are shown of open gates: all of a run as one question, and words of the agent below the request.

agent-chat-ui draws a card only below words of the model or of a tool, and of a thread's second request the
newest message is that request (langchain-ai/agent-chat-ui, `src/components/thread/messages/ai.tsx`). It and
Agent Inbox answer with one value, which LangGraph takes for one interrupt alone.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence

from langchain_core.messages import AIMessage
from langgraph.types import Interrupt, StateSnapshot, TaskResultPayload

from planwright.approvals.answers.open_gates import as_one
from planwright.approvals.decide import gate_of
from planwright.graph.entry.outputs import interrupts_in


def visible_state(state: StateSnapshot) -> StateSnapshot:
    """Show the open gates of a state of a thread as one, which the last task asks that has a gate."""
    interrupts = _as_one(state.interrupts)
    if len(interrupts) < len(state.interrupts):
        last = max(n for n, task in enumerate(state.tasks) if task.interrupts)
        tasks = [task._replace(interrupts=interrupts * (n == last)) for n, task in enumerate(state.tasks)]
        state = state._replace(interrupts=interrupts, tasks=tuple(tasks))
    return state._replace(values=_with_words(state.values, interrupts))


async def visible_chunks(chunks: AsyncIterator[object]) -> AsyncGenerator[object, None]:
    """Show the same in the pieces of a stream; those of the graphs inside stay as they are.

    Interrupts come one by one there, each when its gate opens. What the results of tasks say of them the
    server keeps for its list of threads: of several tasks that wait, the latest asks for all.
    """
    interrupts = tuple[Interrupt, ...]()
    latest: TaskResultPayload | None = None
    async for chunk in chunks:
        *place, body = chunk if isinstance(chunk, tuple) else ("values", chunk)
        if place in (["values"], [(), "values"]):
            body = _with_words(body, interrupts_in(body))
        elif place in (["debug"], [(), "debug"]) and body["type"] == "task_result":
            more = tuple(Interrupt(**each) for each in body["payload"]["interrupts"])
            if more and latest:
                yield (*place, body | {"payload": _result(latest, ())})
            if more:
                interrupts, latest = interrupts + more, body["payload"]
                body = body | {"payload": _result(body["payload"], _as_one(interrupts))}
        yield (*place, body) if isinstance(chunk, tuple) else body


def _result(payload: TaskResultPayload, interrupts: Sequence[Interrupt]) -> TaskResultPayload:
    """Let the result of a task show other interrupts."""
    return {**payload, "interrupts": [{"value": each.value, "id": each.id} for each in interrupts]}


def _as_one(interrupts: tuple[Interrupt, ...]) -> tuple[Interrupt, ...]:
    """Put the gates of interrupts into one; what is no gate stays as it is."""
    gates = [each.value for each in interrupts if gate_of(each.value)]
    if len(gates) < 2:
        return interrupts
    question = as_one(gates)
    others = (each for each in interrupts if not gate_of(each.value))
    return (*others, Interrupt(question, id=question["gate_id"]))


def _with_words(values: object, interrupts: Sequence[Interrupt]) -> object:
    """Put a message below those of a state; the thread itself never has it, so no prompt does."""
    prompts = [each.value for each in interrupts if gate_of(each.value)]
    if not prompts or not isinstance(values, dict) or "messages" not in values:
        return values
    words = "\n".join(str(prompt["description"]) for prompt in prompts)
    message = AIMessage(words, id=f"{gate_of(prompts[0])}:question")
    return {**values, "messages": [*values["messages"], message]}
