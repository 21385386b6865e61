"""The calls of a reply, verified before any of them runs: tool, arguments, policy, risk."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Container, Iterable, Mapping, Sequence

from langchain_core.messages import AIMessage
from pydantic import JsonValue

from planwright.capabilities.arguments import check_arguments
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.chains.compose import compose_chain
from planwright.capabilities.chains.run_chains import allowed_in_run
from planwright.capabilities.contract import Capability
from planwright.capabilities.gateway.redact import refuse_secrets
from planwright.capabilities.gateway.verified_call import NamedCall, verified_call
from planwright.capabilities.policy.consent import TAINTED_FROM, consent_to
from planwright.capabilities.registry import Registry
from planwright.capabilities.schema_paths import JsonSchema
from planwright.domain.chain import CREATE_CHAIN
from planwright.domain.errors import CapabilityRejected
from planwright.domain.hashing import sha256
from planwright.domain.memory_proposal import WRITE
from planwright.domain.plan import DELEGATE, Plan, PlanStep
from planwright.domain.risk import Risk
from planwright.domain.verified_step import VerifiedStep
from planwright.execution.surroundings import SQL, has_foreign_text, surroundings_reader, table_names
from planwright.language.first_person import holds, own_words, says
from planwright.models.conversation.call_arguments import flaw_of, wire_name
from planwright.planning.surface import Surface, surface_of
from planwright.prompts import section
from planwright.records.plans import Plans
from planwright.settings.profile import RunProfile
from planwright.state.invocation import Invocation
from planwright.state.loop_state import ToolCall

CHANGED = "it has changed since it was approved"


def tools_of(names: Sequence[str], registry: Registry) -> dict[str, Capability]:
    """Look up a lane's tools by the name the model knows them by."""
    capabilities = (registry.get(name) for name in names if name != "respond")
    return {wire_name(tool.name): tool for tool in capabilities if tool is not None}


def schemas(tools: Mapping[str, Capability]) -> list[dict[str, object]]:
    """Describe tools as OpenAI's function calling does."""
    return [
        {
            "type": "function",
            "function": {"name": name, "description": tool.description, "parameters": _parameters(tool)},
        }
        for name, tool in tools.items()
    ]


def _parameters(tool: Capability) -> JsonSchema:
    """Spell the arguments of a tool without what only its verification needs."""
    return {key: value for key, value in tool.args_schema.items() if key != "additionalProperties"}


class CallReader:
    """Turn the calls of a reply into steps that may run, or into the reason why not."""

    def __init__(self, registry: Registry, call_context: CallContext, ask_from: Risk) -> None:
        self.registry = registry
        self._call_context = call_context
        self._ask_from = ask_from
        self._surroundings = surroundings_reader(registry, call_context)

    def from_low(self) -> CallReader:
        """Read the calls of a lane that has changed since it was approved: effects ask from Low risk on."""
        return CallReader(self.registry, self._call_context, TAINTED_FROM)

    async def tools(self, granted: Sequence[str], run_id: str, profile: RunProfile) -> dict[str, Capability]:
        """Look up what a lane is granted, and the chains of its run that need nothing else."""
        allowed = await allowed_in_run(self.registry, self._call_context.chains, run_id, profile)
        chains = (chain for name in allowed.chains if (chain := allowed.get(name)) and chain.chain)
        runnable = [chain.name for chain in chains if chain.chain and chain.chain.needs <= {*granted}]
        return tools_of(list(dict.fromkeys([*granted, *runnable])), allowed)

    async def surroundings(self, granted: Container[str], invocation: Invocation) -> str:
        """Tell of the world the run works in, in the same words for as long as it is worked on here.

        Databases are told of where they may be read.
        """
        workspace = section("about", await self._surroundings(invocation))
        tables = await table_names(granted, invocation, self._call_context)
        return workspace + (section("databases", tables, foreign=True) if SQL in granted else "")

    async def has_foreign_text(
        self, granted: Container[str], tools: Iterable[Capability], invocation: Invocation
    ) -> bool:
        """Say whether a lane is told what others wrote before it calls anything."""
        return await has_foreign_text(tools, granted, invocation, self._call_context)

    def asking(self, invocation: Invocation, *, tainted: bool) -> CallContext:
        """Bind the context of the calls of a reply: whose they are, what the user wrote, what was read."""
        requester = (invocation.context.tenant, invocation.profile.agent, invocation.words)
        context = self._call_context.on_behalf_of(*requester, tainted=tainted)
        return context.for_call(context.tenant, invocation.run_id, "")

    async def read(
        self,
        reply: AIMessage,
        wrong: Mapping[int, str],
        tools: Mapping[str, Capability],
        turn: str,
        context: CallContext,
    ) -> list[ToolCall]:
        """Verify every call of a reply; `turn` names the reply within its run, `wrong` what cannot be."""
        calls = []
        for index, call in enumerate(reply.tool_calls):
            tool = tools.get(call["name"]) or self.registry.get(call["name"].replace("__", "."))
            reads = tool is not None and tool.effect == "pure"
            read = ToolCall(call_id=str(call["id"]), index=index, name=call["name"], reads=reads)
            if flaw := wrong.get(index):
                calls.append(read.model_copy(update={"error": flaw}))
            else:
                calls.append(await self.verified(read, call["args"], tools, turn, context))
        return calls

    async def verified(
        self,
        call: ToolCall,
        args: dict[str, JsonValue],
        tools: Mapping[str, Capability],
        turn: str,
        context: CallContext,
    ) -> ToolCall:
        """Verify one call, or say why it is not made: behind effects of its reply it may be another time."""
        try:
            step = await self._verify(call.name, args, tools, f"{turn}.{call.index}", context)
        except CapabilityRejected as refused:
            return call.model_copy(update={"error": str(refused), "unverified": str(refused)})
        if proposed := to_propose(step, context):
            return call.model_copy(update={"proposed": proposed})
        return call.model_copy(update={"checked": step})

    async def anew(self, call: ToolCall, invocation: Invocation) -> ToolCall:
        """Verify a call once more that has changed; one that was approved gets another gate, of its own."""
        old = call.step
        tools = await self.tools([old.step.capability or ""], invocation.run_id, invocation.profile)
        context = self.asking(invocation, tainted=old.tainted)
        try:
            step = await self._verify(call.name, old.step.params, tools, old.step.id, context)
        except CapabilityRejected as refused:
            return call.model_copy(update={"checked": None, "error": str(refused)})
        if old.gated:
            gate_fields = {"gated": True, "asks": True, "reason": CHANGED, "done_before": old.done_before}
            step = step.model_copy(update={**gate_fields, "asked_with": f"{step.uid}:{step.pin}"})
        return call.model_copy(update={"checked": step})

    async def edited(self, call: ToolCall, args: Mapping[str, JsonValue], invocation: Invocation) -> ToolCall:
        """Verify a call with the arguments that a person gave it at its gate: that one it still passes."""
        old = call.step
        tools = await self.tools([old.step.capability or ""], invocation.run_id, invocation.profile)
        context = self.asking(invocation, tainted=old.tainted)
        try:
            step = await self._verify(call.name, dict(args), tools, old.step.id, context)
        except CapabilityRejected as refused:
            return call.model_copy(update={"checked": None, "error": str(refused)})
        fixed = {name: getattr(old, name) for name in ("uid", "asked_with", "reason", "done_before", "pin")}
        step = step.model_copy(update={**fixed, "gated": True, "asks": True})
        return call.model_copy(update={"checked": step, "edited": True})

    async def _verify(
        self,
        name: str,
        args: dict[str, JsonValue],
        tools: Mapping[str, Capability],
        id_: str,
        context: CallContext,
    ) -> VerifiedStep:
        capability = tools.get(name)
        if capability is None:
            near = [wire_name(other) for other in self.registry.near(name)]
            offered = [other for other in near if other in tools] or sorted(tools)
            raise CapabilityRejected(f"there is no tool {name}", f"use one of: {', '.join(offered[:10])}")
        args = check_arguments(capability, args)
        if flaw := flaw_of(args):
            raise CapabilityRejected(flaw, "mend them")
        refuse_secrets(capability, args, context.redactor)
        if capability.name == CREATE_CHAIN:
            mine = Registry(tools.values())
            await asyncio.to_thread(compose_chain, args, mine, self.registry, context)
        if (
            capability.preflight and capability.name != DELEGATE
        ):  # that of a delegation refuses steps of a plan
            await asyncio.to_thread(capability.check, args, context)
        capability = capability.narrowed(args, context)
        judged = consent_to(capability, args, context, self._ask_from)
        surface = Surface(capability.effect, capability.mode, capability.risk)
        if capability.name == DELEGATE:
            args, surface = self._delegation(args, tools)
        step = PlanStep(id=id_, capability=capability.name, params=args, description=capability.description)
        uid = f"step_{sha256([context.run_id, id_, capability.name, args])[:16]}"
        checked = verified_call(NamedCall(step, uid), capability, judged, self.registry, context)
        return checked.model_copy(update=surface._asdict())

    def _delegation(
        self, args: dict[str, JsonValue], tools: Mapping[str, Capability]
    ) -> tuple[dict[str, JsonValue], Surface]:
        """Name the tools of a lane, none of which the caller lacks, and the gravest of them.

        Opening a lane changes nothing: its calls ask for themselves.
        """
        offered = {tool.name: tool for tool in tools.values() if tool.name != "clarify"}
        offered |= {wire_name(name): tool for name, tool in offered.items()}
        wanted = args["tools"] if isinstance(args["tools"], list) else []
        lacking = [str(name) for name in wanted if name not in offered]
        if lacking:
            cause = f"an agent cannot be given what you do not have: {', '.join(lacking)}"
            raise CapabilityRejected(cause, f"choose from: {', '.join(sorted(tools))}")
        chosen = [offered[str(name)] for name in wanted] or [*tools.values()]
        chosen = list({tool.name: tool for tool in chosen if tool.name != "clarify"}.values())
        surface = surface_of(tool for tool in chosen if tool.name != DELEGATE)
        return {**args, "tools": [tool.name for tool in chosen]}, surface


def to_propose(step: VerifiedStep, context: CallContext) -> str:
    """Find the text that a call would remember and the user did not write; empty where there is none.

    Where nobody is asked it has to be a whole sentence: half of one may say the opposite.
    """
    if step.step.capability != WRITE:
        return ""
    text, asks = str(step.step.params.get("text", "")), step.gated or step.asks
    own = holds(own_words(context.request), text) if asks else says(context.request, text)
    return "" if own else text


def with_shared_gate(calls: list[ToolCall], key: str) -> list[ToolCall]:
    """Let the calls of a reply that ask, and that anybody may approve for good, share one gate."""
    sharing = [call.index for call in calls if call.checked and _shares(call)]
    if len(sharing) < 2:
        return calls
    return [
        call.model_copy(update={"checked": call.checked.model_copy(update={"asked_with": key})})
        if call.checked and call.index in sharing
        else call
        for call in calls
    ]


def _shares(call: ToolCall) -> bool:
    """Say whether a call may share a gate: a question, a chain, or one for some people may not."""
    checked = call.checked
    if checked is None or not call.waits or call.asks:
        return False
    if checked.chain or checked.done_before:
        return False
    policy = checked.policy
    return policy is None or not (policy.approvers or policy.quorum > 1 or policy.exclude_requester)


def batch_of(calls: Sequence[ToolCall], goal: str, key: str) -> Plan:
    """Make a plan of the calls of one reply, which `key` names."""
    steps = tuple(call.checked.step for call in calls if call.checked is not None)
    return Plan(plan_id=f"batch_{uuid.uuid5(uuid.NAMESPACE_OID, key).hex[:12]}", goal=goal, steps=steps)


async def record_calls(
    calls: Sequence[ToolCall], goal: str, key: str, plans: Plans, invocation: Invocation
) -> str:
    """Put the calls of one reply on record as a plan, and return its hash.

    Only what is on record can be executed.
    """
    batch = batch_of(calls, goal, key)
    checked = [call.checked for call in calls if call.checked is not None]
    if checked:
        await plans.record(invocation.lease, batch, checked, invocation.clock(), kind="calls")
    return batch.plan_hash
