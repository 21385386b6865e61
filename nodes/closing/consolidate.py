"""consolidate: tell the answer, give a new thread its title, and propose what the run could remember."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from planwright.capabilities.registry import Registry
from planwright.domain.memory_proposal import WRITE, Proposal
from planwright.domain.results import TERMINAL
from planwright.execution.memory_by_rule import Remembering
from planwright.execution.memory_proposals import Proposing
from planwright.models.calling import Models
from planwright.models.conversation.answer import emit_answer
from planwright.models.conversation.title import title_by
from planwright.records.effects.run_deeds import accounted_answer
from planwright.records.stores import Stores
from planwright.settings.memory import MemorySettings
from planwright.state.agent_state import AgentState, AgentUpdate, ModelRoute
from planwright.state.invocation import Invocation, invocation_of
from planwright.state.node import Node

# How a run has ended whose user was heard: no person, limit or policy stood against it.
HEARD = frozenset(("completed", "completed_with_skips", "failed", "needs_input"))


def consolidate(
    models: Models,
    stores: Stores,
    proposing: Proposing,
    remembering: Remembering,
    registry: Registry,
    settings: MemorySettings,
) -> Node[AgentState, AgentUpdate]:
    """Name the thread after its first request; propose what the user said that could be remembered.

    The answer is told first: nobody waits for it behind calls of models that it does not need.
    """

    runs, proposals = stores.runs, stores.proposals
    proposes = settings.proposals != "off" and registry.get(WRITE) is not None

    async def consolidate(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        invocation, request = invocation_of(config), state["request"]
        update: AgentUpdate = {}
        if state.get("answer") and (status := state.get("status")) in TERMINAL:
            answer = await accounted_answer(state, status, invocation.run_id, stores)
            update = {"answer": answer, "tells_deeds": True}
            await emit_answer(runs, answer, invocation, config)
        if not await runs.has_title(invocation.thread_id):
            name = await title_by(models, namer(state), request, invocation)
            runs.set_title(invocation.lease, name)
        if state.get("status") not in HEARD:
            return update
        if proposes and invocation.profile.permits(WRITE, "local_write"):
            for proposal in await propose(state, invocation):
                data = proposal.model_dump(mode="json", include={"id", "text", "said", "tags", "why"})
                invocation.emit("memory_proposed", data, proposal.id)
                await remembering.by_rule(proposal, request, invocation)
        for proposal in await proposals.settle(invocation.lease, invocation.clock()):
            data = {"id": proposal.id, "memory_id": proposal.memory_id}
            invocation.emit("memory_accepted", data, proposal.id)
        return update

    async def propose(state: AgentState, invocation: Invocation) -> list[Proposal]:
        """Propose once, also over a crash; nothing where the run has dealt with its memory by itself."""
        known, dealt_with = await proposals.of_run(invocation.run_id)
        if known or dealt_with:
            return known
        words = (state["request"], state.get("answer", ""))
        candidates = await proposing.find(*words, model_of(state), invocation)
        if not candidates:
            return []
        return await proposals.propose(invocation.lease, candidates, invocation.clock())

    return consolidate


def namer(state: AgentState) -> ModelRoute | None:
    """Choose the model of the run that may name its thread; none where a person or a limit stopped it."""
    return state.get("route") if state.get("status") in HEARD else None


def model_of(state: AgentState) -> ModelRoute | None:
    """Choose the model that looks for memories: that of the run; none after a failure."""
    route = state.get("route")
    return None if route is None or route.embedded or state.get("status") == "failed" else route
