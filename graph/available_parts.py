"""What this process has to work with: a run that needs more goes on in another process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from planwright.capabilities.registry import Registry
from planwright.domain.errors import PartsElsewhere
from planwright.domain.lease import Lease
from planwright.records.ownership.own_parts import OwnParts
from planwright.records.runs import Run

MODEL = "the model given in code"


@dataclass(frozen=True)
class AvailableParts:
    """What this process has, by name: all of it, and of that what was given in code and no other has.

    What the settings prohibit is not needed by anybody: a call of it is refused.
    """

    names: frozenset[str]
    """Names of all capabilities of this process."""
    own: frozenset[str]
    """Names of those given in code, which no other process has, and of the model given in code."""
    registry: Registry
    """What this process can call; it knows which MCP servers are not there."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Hashes of all that decides how its runs go, by the name of the part."""

    async def begin(self, lease: Lease, parts: OwnParts) -> None:
        """Write down what a new run begins with."""
        parts.keep(lease, sorted(self.own))

    async def check(self, run: Run, parts: OwnParts, *, decided: bool) -> None:
        """Raise PartsElsewhere unless a run that was begun can go on here; one that was cancelled can."""
        if run.ended or run.cancelled_by:
            return
        needed = await parts.needed(run.run_id) - self.names
        missing = sorted(name for name in needed if not self.registry.prohibits(name))
        if missing:
            servers = {name: self.registry.absent_server(name) for name in missing}
            if all(servers.values()):
                raise servers_absent(run, servers, decided=decided)
            raise elsewhere(run, missing, decided=decided)


def available_parts(registry: Registry, own: Iterable[str], versions: Mapping[str, str]) -> AvailableParts:
    """Gather what a process has."""
    own_names = frozenset(own)
    names = frozenset(capability.name for capability in registry) | own_names
    return AvailableParts(names, own_names, registry, versions)


def elsewhere(run: Run, missing: list[str], *, decided: bool) -> PartsElsewhere:
    """Say where a run goes on, and how it is ended where there is no such place any more."""
    names = ", ".join(missing)
    return PartsElsewhere(
        f"{_state(decided)}: run {run.run_id} needs what this process does not have ({names})",
        f"go on where that is: agent.invoke(None, config), with thread_id {run.thread_id}; "
        f"if it is gone for good: planwright cancel {run.thread_id}",
    )


def servers_absent(run: Run, servers: Mapping[str, str], *, decided: bool) -> PartsElsewhere:
    """Say which MCP servers a run waits for; `servers` are those of the capabilities it has to call."""
    names = " and ".join(f"`{server}`" for server in sorted(set(servers.values())))
    return PartsElsewhere(
        f"{_state(decided)}: run {run.run_id} needs {', '.join(servers)} of the MCP server {names}, "
        "which is not there",
        f"see why: planwright mcp ls; then go on: planwright resume {run.thread_id}; "
        f"or end it: planwright cancel {run.thread_id}",
    )


def _state(decided: bool) -> str:
    return "the decision is on record, and nothing was run" if decided else "nothing was run"
