"""task_extraction: turn the conversation into one self-contained task."""

from __future__ import annotations

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig

from planwright.domain.clock import AttendedTimeout
from planwright.execution.surroundings import SurroundingsReader
from planwright.models.calling import Models
from planwright.models.conversation.thread_messages import as_fields
from planwright.models.json_reply import read_json
from planwright.models.model_calls import Prompt
from planwright.prompts import render, section
from planwright.records.memories import Memories
from planwright.state.agent_state import AgentState, AgentUpdate, Task
from planwright.state.compaction import visible_messages
from planwright.state.invocation import Invocation, invocation_of
from planwright.state.node import Node

SOURCES_TIMEOUT_S = 30
ANSWER = {
    "type": "object",
    "properties": {"task": {"type": "string"}, "depends_on_chat_history": {"type": "boolean"}},
    "required": ["task"],
}


def task_extraction(
    models: Models, memories: Memories, surroundings: SurroundingsReader
) -> Node[AgentState, AgentUpdate]:
    """Resolve what the newest message refers to; a first message needs no model call."""

    async def task_extraction(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        invocation = invocation_of(config)
        may = invocation.profile.permits("memory.search", "read_only")
        remembered = await recall_memories(memories, state["request"], invocation) if may else ()
        earlier = history(visible_messages(state["messages"], state.get("compacted")))
        if not earlier:
            return {
                "task": Task(task=state["request"], memories=remembered, depends_on_memory=bool(remembered))
            }
        prompt = Prompt(
            role="task_extraction",
            system=render("task_extraction"),
            user="".join(
                [
                    section("about", await surroundings(invocation)),
                    section("history", earlier, foreign=True),
                    section("newest", state["request"]),
                ]
            ),
            schema=ANSWER,
        )
        reply, _ = read_json(await models.complete(state["route"], prompt, invocation, "task_extraction"))
        task = Task(
            task=str(reply.get("task") or state["request"]),
            depends_on_chat_history=bool(reply.get("depends_on_chat_history")),
            depends_on_memory=bool(remembered),
            memories=remembered,
        )
        return {"task": task}

    return task_extraction


async def recall_memories(memories: Memories, request: str, invocation: Invocation) -> tuple[str, ...]:
    """Read what is remembered about a request; too slow a store means without."""
    try:
        async with AttendedTimeout(SOURCES_TIMEOUT_S):
            memories_by_rank = await memories.search(request, invocation.context.tenant, 5)
    except TimeoutError:
        return ()
    return tuple(memory.text for memory in memories_by_rank)


def history(messages: list[AnyMessage]) -> list[dict[str, object]]:
    """List all messages but the newest of the user's, oldest first; calls and results are among them."""
    newest = max((n for n, message in enumerate(messages) if message.type == "human"), default=0)
    return [as_fields(message) for message in [*messages[:newest], *messages[newest + 1 :]]]
