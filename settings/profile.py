"""The profile of a run: what its agent may use and spend, and how it plans.

A request's own options win over its agent (`[agents.<id>]`), and the agent over the workspace. Whether a
run may use a capability is decided in one place, `RunProfile.permits`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fnmatch import fnmatchcase

from planwright.domain.declared_returns import Schema
from planwright.domain.errors import SetupError
from planwright.domain.hashing import sha256
from planwright.domain.plan import CLOSING, DELEGATE, WHOLE
from planwright.domain.risk import MODES, Mode
from planwright.domain.run_context import PlanningMode, RunContext
from planwright.language.first_person import folded
from planwright.presentation.nearest import nearest
from planwright.settings.agents import AgentProfile, RunBudgetSettings
from planwright.settings.settings import Settings

WORKSPACE = {
    "planning": "planning.mode",
    "max_tool_iterations": "execution.max_tool_iterations",
    "tools": "capabilities",
    "model": "providers",
    "modes": "capabilities",
}


class RunLimits(RunBudgetSettings):
    """The limits of one run; `own` names the settings of those its agent sets itself."""

    own: Mapping[str, str] = {}
    """Settings that a limit comes from where its agent sets it, by the limit's name."""

    def setting(self, name: str) -> str:
        """Name the setting that a limit comes from."""
        return self.own.get(name, super().setting(name))


@dataclass(frozen=True)
class RunProfile:
    """What is in force for one run; `tools` and `modes` None permit all, `model` None leaves the choice."""

    agent: str | None
    """Name of the agent under [agents] in the settings; None for none."""
    planning: PlanningMode
    """When the run is planned."""
    max_tool_iterations: int
    """Most turns of one loop."""
    tools: tuple[str, ...] | None
    """Names or globs of the capabilities that the run may use; None for all."""
    model: str | None
    """Provider, or provider/model, that the request or the agent chose; None leaves the choice."""
    limits: RunLimits
    """Limits of the run, those of the workspace with those of the agent laid over."""
    instructions: str
    """What the agent is told in its prompts; "" for nothing."""
    own: Mapping[str, str] = field(default_factory=dict)
    """Where a value comes from that the agent or the request sets, by the name of the value."""
    modes: tuple[Mode, ...] | None = None
    """Modes of capabilities that the run may use; None for all."""
    answer_schema: Schema | None = None
    """JSON Schema of the typed answer that the run ends with; None for words alone."""

    def permits(self, capability: str, mode: Mode) -> bool:
        """Say whether the run may use a capability of a mode; its last words and own results always are."""
        return not self.why_not(capability, mode)

    def why_not(self, capability: str, mode: Mode) -> str:
        """Say why the run may not use a capability of a mode; empty when it may.

        `agent.delegate` has no mode that counts: what its lane calls is looked at call by call.
        """
        if capability in (*CLOSING, WHOLE):
            return ""
        if self.tools is not None and not any(stands_for(tool, capability) for tool in self.tools):
            return f"this agent may not use {capability}"
        if self.modes is None or mode in self.modes or capability == DELEGATE:
            return ""
        allowed = ", ".join(self.modes) or "none"
        return f"this run may not use {capability}: it is {mode}, and the modes it may use are {allowed}"

    def setting(self, name: str) -> str:
        """Name the setting that a value comes from."""
        return self.own.get(name, WORKSPACE[name])

    @property
    def hash(self) -> str:
        """The hash of all that the profile says, to pin a plan to it."""
        limits = self.limits.model_dump(mode="json", exclude={"own"})
        content = [self.agent, self.planning, self.max_tool_iterations, self.tools, self.model, limits]
        modes = [] if self.modes is None else [self.modes]
        form = [] if self.answer_schema is None else [self.answer_schema]
        return sha256([*content, self.instructions, *modes, *form])


def with_more(profile: RunProfile, extended: str | None) -> RunProfile:
    """Add to the limits of a run what it was given beyond them: JSON, from units to amounts."""
    if not extended:
        return profile
    limits: dict[str, float | Decimal] = {}
    for unit, amount in json.loads(extended).items():
        limit = getattr(profile.limits, unit, None)
        if limit is not None:
            limits[unit] = limit + type(limit)(str(amount) if isinstance(limit, Decimal) else amount)
    return replace(profile, limits=profile.limits.model_copy(update=limits))


def stands_for(glob: str, capability: str) -> bool:
    """Say whether a name or a pattern like `mail.*` stands for a capability, in capitals or small letters.

    No two capabilities differ in that alone, so a rule that denies `order` denies the tool `Order`.
    """
    return fnmatchcase(folded(capability), folded(glob)) or glob == capability


def in_force(settings: Settings, context: RunContext) -> RunProfile:
    """Lay a request's options over its agent, and both over the workspace.

    Raises SetupError for an agent that there is not.
    """
    agent, where = find_agent(settings, context.agent), f"agents.{context.agent}"
    sources = {name: f"{where}.{name}" for name in WORKSPACE if getattr(agent, name) is not None}
    if context.planning_mode is not None:
        sources["planning"] = "the request"
    if context.provider is not None:
        sources["model"] = "the request"
    if context.modes is not None:
        sources["modes"] = f"the request and {sources['modes']}" if "modes" in sources else "the request"
    own = agent.limits.model_dump(exclude_unset=True)
    return RunProfile(
        agent=context.agent,
        planning=context.planning_mode or agent.planning or settings.planning.mode,
        max_tool_iterations=min(
            agent.max_tool_iterations or settings.execution.max_tool_iterations,
            settings.execution.max_tool_iterations_hard_limit,
        ),
        tools=agent.tools,
        model=context.provider or agent.model,
        limits=RunLimits.model_validate(
            settings.budgets.run.model_dump() | own | {"own": {n: f"{where}.limits.{n}" for n in own}}
        ),
        instructions=agent.instructions.strip(),
        own=sources,
        modes=modes_of(agent.modes, context.modes),
        answer_schema=context.answer_schema or agent.answer_schema,
    )


def modes_of(agent: tuple[Mode, ...] | None, request: tuple[Mode, ...] | None) -> tuple[Mode, ...] | None:
    """Join the modes that an agent and a request allow: what both do. A request never widens its agent."""
    limits = [modes for modes in (agent, request) if modes is not None]
    return tuple(mode for mode in MODES if all(mode in modes for modes in limits)) if limits else None


def find_agent(settings: Settings, agent_id: str | None) -> AgentProfile:
    """Look an agent up; None is one that says nothing. Raises SetupError with the nearest names."""
    if agent_id is None:
        return AgentProfile()
    if agent_id in settings.agents:
        return settings.agents[agent_id]
    near = nearest(agent_id, settings.agents, limit=3, least=45)
    known = ", ".join(near) or ", ".join(sorted(settings.agents)) or "none is set"
    raise SetupError(
        f"there is no agent {agent_id!r} ({'nearest' if near else 'there are'}: {known})",
        f"see them with: planwright agents ls, or add [agents.{agent_id}] to planwright.toml",
    )
