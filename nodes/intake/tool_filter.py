"""tool_filter: the capabilities that fit a request best; the planner's shortlist begins with them."""

from __future__ import annotations

import re

from langchain_core.runnables import RunnableConfig

from planwright.capabilities.contract import Capability
from planwright.capabilities.registry import Registry
from planwright.state.agent_state import AgentState, AgentUpdate
from planwright.state.invocation import invocation_of
from planwright.state.node import Node

_POLITE = re.compile(r"^(?:(?:please|hi|hello|hey|ok|so|(?:can|could|would|will) you(?: please)?)\b[\s,]*)+")
_CLAUSE = re.compile(r"[.;!?,]+\s|\band\b|\bthen\b")
_WORD = re.compile(r"[a-z']+")
_TELLS = re.compile(r"\btell (?!me\b|us\b)", re.IGNORECASE)
_ASKS = frozenset(
    "what what's which who who's whom whose when where where's why how how's is are was were am do does did"
    " has have had list show find search look read tell summarize summarise compare count explain describe"
    " translate check analyze analyse".split()
)
_ACTS = frozenset(
    "write save store put create make add append draft compose send mail email forward reply post publish"
    " share notify message remember memorize note forget delete remove drop clear erase update change edit"
    " set rename move copy upload insert execute run schedule book order buy pay refund transfer cancel close"
    " open assign approve submit file register record log".split()
)


def tool_filter(registry: Registry, top_k: int) -> Node[AgentState, AgentUpdate]:
    """Keep the `top_k` best capabilities, `datetime.now` and `memory.search` among them.

    A question is offered nothing that only changes something.
    """

    async def tool_filter(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        surface = registry.within(invocation_of(config).profile)
        request = state["request"]
        if not only_asks(request):
            return {"tools": surface.rank(request, top_k)}
        return {"tools": surface.rank(request, top_k, lambda tool: not only_changes(tool))}

    return tool_filter


def only_asks(request: str) -> bool:
    """Say whether an English request only asks and looks up, clause by clause; any other is taken to act."""
    clauses = [_WORD.findall(_POLITE.sub("", part.strip())) for part in _CLAUSE.split(request.lower())]
    heads = [words[0] for words in clauses if words]
    acts = any(not _ACTS.isdisjoint(words) for words in clauses) or bool(_TELLS.search(request))
    return bool(heads) and not acts and all(head in _ASKS for head in heads)


def only_changes(capability: Capability) -> bool:
    """Say whether no call of a capability is a mere look."""
    return capability.effect != "pure" and capability.varies is None
