"""classification: which capabilities could serve a task, by one ranked search over the registry.

Where a model is set for the role `fast`, it is asked once which of those found could serve.
"""

from __future__ import annotations

from collections.abc import Iterable

from langchain_core.runnables import RunnableConfig

from planwright.capabilities.contract import Capability
from planwright.capabilities.registry import ALWAYS, TOOL_SEARCH, Registry
from planwright.domain.errors import LimitExceeded, ModelError, SetupError
from planwright.domain.plan import CLOSING
from planwright.domain.results import Finding
from planwright.models.calling import Models
from planwright.models.json_reply import read_json
from planwright.models.model_calls import Prompt
from planwright.prompts import render, section
from planwright.state.agent_state import AgentState, AgentUpdate, Attempts
from planwright.state.invocation import Invocation, invocation_of
from planwright.state.node import Node

SHORTLIST = 32  # all that is built in, and room for some that are not
CHOOSE_TOKENS = 512
REPLY = {
    "type": "object",
    "properties": {"capabilities": {"type": "array", "items": {"type": "string"}}},
    "required": ["capabilities"],
}


def classification(registry: Registry, models: Models) -> Node[AgentState, AgentUpdate]:
    """Draw up the planner's shortlist; a second look takes the reason of the failure into account."""

    async def classification(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        invocation = invocation_of(config)
        allowed = registry.within(invocation.profile)
        rounds, findings = state.get("attempts", Attempts()).reclassifications, state.get("findings", [])
        ranked = shortlist(allowed, state["task"].task, findings, rounds)
        names = list(dict.fromkeys([*state["tools"], *ranked]))
        names = [name for name in names if name != TOOL_SEARCH]
        if models.router.role("fast", state["route"]) is None:
            return {"shortlist": names}
        open_, active = to_classify(capability for name in names if (capability := allowed.get(name)))
        chosen = await _choose(models, state, open_, findings, invocation, rounds) if open_ else None
        return {"shortlist": names if chosen is None else narrowed(names, active, chosen)}

    return classification


def shortlist(registry: Registry, task: str, findings: list[Finding], rounds: int) -> list[str]:
    """Rank the registry for a task; every reclassification looks twice as far.

    What is declared as always active is on the list whatever the task.
    """
    reasons = " ".join(finding.message for finding in findings)
    ranked = registry.rank(f"{task} {reasons}", SHORTLIST * 2**rounds)
    always = [tool.name for tool in registry if tool.guide.always_active]
    closing = [name for name in CLOSING if name in registry]
    return list(dict.fromkeys([*ranked, *always, *closing]))


def to_classify(capabilities: Iterable[Capability]) -> tuple[list[Capability], set[str]]:
    """Split a shortlist: what a model is asked about, and the names of what stays on it in any case."""
    active, candidates = set[str](), list[Capability]()
    for capability in capabilities:
        if capability.guide.always_active or capability.name in (*CLOSING, *ALWAYS):
            active.add(capability.name)
        elif capability.is_set_up:
            candidates.append(capability)
    return candidates, active


def narrowed(names: list[str], active: set[str], chosen: set[str]) -> list[str]:
    """Keep of a shortlist what a model chose and what is always active; all of it where it chose nothing."""
    return [name for name in names if name in active or name in chosen] if chosen else names


async def _choose(
    models: Models,
    state: AgentState,
    candidates: list[Capability],
    findings: list[Finding],
    invocation: Invocation,
    rounds: int,
) -> set[str] | None:
    """Ask the model of the role `fast` which capabilities could serve; None when it gives no answer."""
    described = [
        {"name": tool.name, "description": tool.description, "examples": list(tool.guide.examples)}
        for tool in candidates
    ]
    prompt = Prompt(
        role="classification",
        system=render("classification"),
        user="".join(
            [
                section("task", state["task"].task),
                section("capabilities", described),
                section("findings", [str(finding) for finding in findings], foreign=True),
            ]
        ),
        schema=REPLY,
        max_tokens=CHOOSE_TOKENS,
        temperature=0,
    )
    try:
        reply = await models.complete(state["route"], prompt, invocation, f"classification:{rounds}")
        return read_choice(reply, {tool.name for tool in candidates})
    except (ModelError, LimitExceeded, SetupError):
        return None


def read_choice(reply: str, candidates: set[str]) -> set[str]:
    """Read the names that a model chose; what was not asked about is left out. Raises ModelOutputInvalid."""
    names = read_json(reply)[0].get("capabilities")
    return (
        {name for name in names if isinstance(name, str)} & candidates if isinstance(names, list) else set()
    )
