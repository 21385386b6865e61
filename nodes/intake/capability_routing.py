"""capability_routing: pick the provider and model that serve this run."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig

from planwright.domain.errors import SetupError
from planwright.domain.model_hint import ModelHint
from planwright.models.providers.router import Router
from planwright.planning.model_hints import emit_route
from planwright.state.agent_state import AgentState, AgentUpdate
from planwright.state.compaction import visible_messages
from planwright.state.invocation import invocation_of
from planwright.state.node import Node, ending

NO_MODEL = SetupError(
    "`answer_schema` wants a typed answer, which only a model writes, and none serves; nothing was done",
    "add a provider to planwright.toml, or leave `answer_schema` out",
)
IMAGES = frozenset(("image", "image_url", "input_image"))


def capability_routing(router: Router) -> Node[AgentState, AgentUpdate]:
    """Route by the choice of the request or its agent, else by priority among the providers that can."""

    async def capability_routing(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        invocation = invocation_of(config)
        hint = asked_by(visible_messages(state["messages"], state.get("compacted")))
        route = router.route(invocation.profile.model, hint, state.get("benched", ()))
        if hint:
            emit_route(router, route, hint, {"step_id": "", "uid": invocation.run_id}, invocation)
        if route.embedded and invocation.profile.answer_schema:
            return {"route": route, **ending("failed", NO_MODEL)}
        return {"route": route}

    return capability_routing


def asked_by(messages: Sequence[AnyMessage]) -> ModelHint | None:
    """Say what a conversation asks of its model: eyes, where there is an image in it.

    Only preferred, for providers that say nothing of vision may well have it.
    """
    blocks = (block for message in messages if isinstance(message.content, list) for block in message.content)
    seen = any(isinstance(block, dict) and block.get("type") in IMAGES for block in blocks)
    return ModelHint(requires_vision="preferred") if seen else None
