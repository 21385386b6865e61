"""capability_routing: pick the provider and model that serve this run."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from planwright.graph.invocation import invocation_of
from planwright.graph.state import AgentState
from planwright.models.router import Router
from planwright.nodes.node import Node, Update


def capability_routing(router: Router) -> Node[AgentState]:
    """Route by the choice of the request or its agent, else by priority among the providers that can."""

    async def capability_routing(state: AgentState, config: RunnableConfig) -> Update:
        model = invocation_of(config).profile.model
        return {"route": router.route(model, benched=state.get("benched", ()))}

    return capability_routing
