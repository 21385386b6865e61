"""The calls of a reply, verified before any of them runs: tool, arguments, policy, risk."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage
from pydantic import JsonValue, ValidationError

from planwright.capabilities import policy
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.capability import Capability, check_arguments, explain
from planwright.capabilities.chains import compose, surface_in_run
from planwright.capabilities.redacted import refuse_secrets
from planwright.capabilities.registry import Registry
from planwright.graph.canonical import sha256
from planwright.graph.chains import CREATE_CHAIN
from planwright.graph.errors import CapabilityRejected
from planwright.graph.loop_state import ToolCall
from planwright.graph.plan import DELEGATE, CheckedStep, Plan, PlanStep, PolicyEvidence
from planwright.graph.profile import Profile
from planwright.graph.risk import Risk, at_least
from planwright.nodes.call_arguments import flaw_of
from planwright.nodes.surface import Surface, surface_of


def wire_name(name: str) -> str:
    """Spell a capability's name as function calling allows it: letters, digits, `_` and `-`."""
    return name.replace(".", "__")


def tools_of(names: Sequence[str], registry: Registry) -> dict[str, Capability]:
    """Look up a lane's tools by the name the model knows them by."""
    found = (registry.get(name) for name in names if name != "respond")
    return {wire_name(tool.name): tool for tool in found if tool is not None}


def schemas(tools: Mapping[str, Capability]) -> list[dict[str, Any]]:
    """Describe tools as OpenAI's function calling does."""
    return [
        {
            "type": "function",
            "function": {"name": name, "description": tool.description, "parameters": tool.args_schema},
        }
        for name, tool in tools.items()
    ]


class CallReader:
    """Turn the calls of a reply into steps that may run, or into the reason why not."""

    def __init__(self, registry: Registry, world: CallContext, ask_from: Risk) -> None:
        self.registry = registry
        self._world = world
        self._ask_from = ask_from

    async def tools(self, granted: Sequence[str], run_id: str, profile: Profile) -> dict[str, Capability]:
        """Look up what a lane is granted, and the chains of its run that need nothing else."""
        surface = await surface_in_run(self.registry, self._world.chains, run_id, profile)
        chains = (found for name in surface.chains if (found := surface.get(name)) and found.chain)
        whole = [found.name for found in chains if found.chain and found.chain.needs <= {*granted}]
        return tools_of(list(dict.fromkeys([*granted, *whole])), surface)

    async def read(
        self,
        reply: AIMessage,
        wrong: Mapping[int, str],
        tools: Mapping[str, Capability],
        run_id: str,
        turn: str,
        tenant: str = "default",
        agent: str | None = None,
    ) -> list[ToolCall]:
        """Verify every call of a reply; `turn` names the reply within its run, `wrong` what cannot be."""
        world, read = self._world.on_behalf_of(tenant, agent), []
        for index, call in enumerate(reply.tool_calls):
            made = {"call_id": str(call["id"]), "index": index, "name": call["name"]}
            error = wrong.get(index, "")
            try:
                step = (
                    None
                    if error
                    else await self._verify(
                        call["name"], call["args"], tools, run_id, f"{turn}.{index}", world
                    )
                )
            except CapabilityRejected as refused:
                step, error = None, str(refused)
            read.append(ToolCall(**made, checked=step, error=error))
        return read

    async def _verify(
        self,
        name: str,
        args: dict[str, JsonValue],
        tools: Mapping[str, Capability],
        run_id: str,
        id_: str,
        world: CallContext,
    ) -> CheckedStep:
        found = tools.get(name)
        if found is None:
            near = [wire_name(other) for other in self.registry.near(name)]
            offered = [other for other in near if other in tools] or sorted(tools)
            raise CapabilityRejected(f"there is no tool {name}", f"use one of: {', '.join(offered[:10])}")
        try:
            checked = check_arguments(found, args)
        except ValidationError as error:
            raise CapabilityRejected(f"bad arguments: {explain(error)}", "mend them") from error
        except Exception as error:
            cause = f"the arguments of {found.name} cannot be checked: {type(error).__name__}: {error}"
            raise CapabilityRejected(cause, "mend them") from error
        if flaw := flaw_of(checked):
            raise CapabilityRejected(flaw, "mend them")
        refuse_secrets(found, checked, world.redactor)
        if found.name == CREATE_CHAIN:
            mine = Registry(tools.values())
            await asyncio.to_thread(compose, checked, mine, self.registry, world)
        if found.preflight and found.name != DELEGATE:  # that of a delegation refuses steps of a plan
            await asyncio.to_thread(found.check, checked, world)
        found = found.given(checked, world)
        ruling = policy.decide(found, checked, world)
        if ruling.answer == "deny":
            raise CapabilityRejected(f"the policy denies {found.name}: {ruling.why}")
        judged = _Judged(found, run_id, id_, ruling, policy.evidence(ruling, world))
        if found.name == DELEGATE:
            return self._delegation(judged, checked, tools)
        asks = ruling.answer == "ask" or found.mode == "destructive"
        risky = at_least(found.risk, self._ask_from)
        reason = ruling.reason if asks or not risky else f"risk {found.risk}"
        surface = Surface(found.effect, found.mode, found.risk)
        return judged.step(checked, surface, gated=asks or risky, reason=reason)

    def _delegation(
        self, judged: _Judged, args: dict[str, JsonValue], tools: Mapping[str, Capability]
    ) -> CheckedStep:
        """Judge a call that opens a lane by the gravest of its tools, none of which the caller lacks."""
        offered = {tool.name: tool for tool in tools.values() if tool.name != "clarify"}
        offered |= {wire_name(name): tool for name, tool in offered.items()}
        wanted = args["tools"] if isinstance(args["tools"], list) else []
        lacking = [str(name) for name in wanted if name not in offered]
        if lacking:
            cause = f"an agent cannot be given what you do not have: {', '.join(lacking)}"
            raise CapabilityRejected(cause, f"choose from: {', '.join(sorted(tools))}")
        given = [offered[str(name)] for name in wanted] or [*tools.values()]
        given = list({tool.name: tool for tool in given if tool.name != "clarify"}.values())
        surface = surface_of(tool for tool in given if tool.name != DELEGATE)
        asks = judged.ruling.answer == "ask"
        risky = surface.mode == "destructive" or at_least(surface.risk, self._ask_from)
        may = f"an agent of its own may do up to {surface.mode}, risk {surface.risk}"
        reason = f"{judged.ruling.reason}; {may}" if asks else may
        args = {**args, "tools": [tool.name for tool in given]}
        return judged.step(args, surface, gated=asks or risky, reason=reason)


class _Judged(NamedTuple):
    """A call that policy does not deny, on its way to be a step."""

    found: Capability
    run_id: str
    id: str
    ruling: policy.Ruling
    evidence: PolicyEvidence

    def step(self, args: dict[str, JsonValue], surface: Surface, *, gated: bool, reason: str) -> CheckedStep:
        """Name the call for good, by its place in the run and its arguments."""
        found = self.found
        return CheckedStep(
            step=PlanStep(id=self.id, capability=found.name, params=args, description=found.description),
            uid=f"step_{sha256([self.run_id, self.id, found.name, args])[:16]}",
            needs=(),
            effect=surface.effect,
            mode=surface.mode,
            risk=surface.risk,
            gated=gated,
            reason=reason,
            policy=self.evidence if gated else None,
            chain=found.chain,
        )


def batch_of(calls: Sequence[ToolCall], goal: str, key: str) -> Plan:
    """Put the calls of one reply on record as a plan: only what is on record can be executed."""
    steps = tuple(call.checked.step for call in calls if call.checked is not None)
    return Plan(plan_id=f"batch_{uuid.uuid5(uuid.NAMESPACE_OID, key).hex[:12]}", goal=goal, steps=steps)
