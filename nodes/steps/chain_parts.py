"""chain_parts: call the steps of a chain one after another, each through the gateway, up to one that asks."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from langchain_core.runnables import RunnableConfig
from pydantic import JsonValue

from planwright.approvals.call_gate import CallGates, approval, is_named, shows_chain
from planwright.approvals.card import marked, tool_facts
from planwright.approvals.gate import emit_decision
from planwright.capabilities.arguments import check_arguments
from planwright.capabilities.chains.compose import is_known
from planwright.capabilities.contract import Capability
from planwright.capabilities.gateway.call_site import effect_call
from planwright.capabilities.gateway.read_files import files_read, shown_files
from planwright.capabilities.gateway.redact import refuse_secrets
from planwright.capabilities.policy.consent import Judgement, shown_once_known
from planwright.capabilities.policy.decide import evidence
from planwright.capabilities.policy.rulings import Ruling
from planwright.capabilities.width import width_of
from planwright.domain.chain import Chain
from planwright.domain.errors import CapabilityError, CapabilityRejected, PlanwrightError, RunStopped
from planwright.domain.references import has_reference, resolve_params
from planwright.domain.results import StepResult
from planwright.domain.step_ends import CANCELLED, bare_result
from planwright.domain.verified_step import VerifiedStep
from planwright.execution.call_events import call_fields, emit_end, emit_start
from planwright.execution.chain_parts import chain_of, parts_of, parts_plan
from planwright.execution.repeated_calls import done_already, once_more
from planwright.execution.step_runner import StepRunner, site_of
from planwright.nodes.steps.gated_call import refused
from planwright.records.consent.gate import Decision
from planwright.records.stores import Stores
from planwright.state.chain_state import ChainState, ChainTask, ChainUpdate
from planwright.state.invocation import Invocation, invocation_of
from planwright.state.node import Node

CHANGED = "it has changed since its chain was approved"


def chain_parts(runner: StepRunner, gates: CallGates, stores: Stores) -> Node[ChainState, ChainUpdate]:
    """Go through a chain from its first step; those that were made answer from the record."""

    async def chain_parts(state: ChainState, config: RunnableConfig) -> ChainUpdate:
        checked, invocation = state["task"].checked, invocation_of(config)
        run = _Run(runner, gates, stores, state["task"], invocation)
        try:
            return await run.onward()
        except CapabilityError as error:
            not_made = bare_result(checked, "failed", code=error.code, error=error.cause)
        except RunStopped:
            raise
        except PlanwrightError as error:
            not_made = bare_result(checked, "failed", code="failed", error=str(error))
        return {"result": await runner.begun.first(checked, not_made, invocation)}

    return chain_parts


@dataclass(frozen=True)
class _Run:
    """One call of a chain in one invocation."""

    runner: StepRunner
    """Makes calls and records how they end."""
    gates: CallGates
    """Opens and reads the gates of calls."""
    stores: Stores
    """Where the run is recorded."""
    task: ChainTask
    """The call of the chain."""
    invocation: Invocation
    """What this invocation carries beside the state."""

    async def onward(self) -> ChainUpdate:
        """Call what has not been called. Returns the result of the chain, or the gate it stops at."""
        task, board = self.task, self.invocation.board
        chain = chain_of(task.checked)
        args = await self._admitted()
        begun = await self.runner.begun.uids(self.invocation.run_id)
        parts = parts_of(self.invocation.run_id, task.checked, args, self.runner.gateway, board.settled)
        parts = [part if part.uid in begun else self._asked_anew(part) for part in parts]
        plan_hash = await self._on_record(parts)
        steps: dict[str, JsonValue] = {}
        scope: dict[str, JsonValue] = {"input": args, "steps": steps}
        done: list[StepResult] = []
        for call, part in zip(chain.calls, parts, strict=True):
            known = is_known(call) and self._inputs_shown and not self.changed
            result = board.settled(part.uid) or await self._next(
                part, scope, plan_hash, known, begun=part.uid in begun
            )
            if isinstance(result, str):
                return {"gate_id": result}
            done.append(result)
            if result.status != "completed":
                return {"result": stopped(task.checked, done)}
            output = await self.runner.output(result)
            steps |= {call.id: {"output": output}, str(len(done)): {"output": output}}
            scope["previous_result"] = output
        return {"result": finished(task.checked, done)}

    @property
    def changed(self) -> bool:
        """Whether the chain calls something else by now than what was approved, or under other rules."""
        return not self.runner.gateway.as_pinned(self.task.checked)

    @property
    def _inputs_shown(self) -> bool:
        """Whether a person saw what the chain is given: at its own gate, or as its plan spells it."""
        checked = self.task.checked
        return bool(self.task.gate_id) or not (checked.tainted and has_reference(dict(checked.step.params)))

    def _asked_anew(self, part: VerifiedStep) -> VerifiedStep:
        """Give a part of a chain that has changed a gate of its own: no approval from before is for it."""
        return part.model_copy(update={"asked_with": f"{part.uid}:{part.pin}"}) if self.changed else part

    async def _admitted(self) -> dict[str, JsonValue]:
        """Let the call of the chain itself pass, as any call does. Raises CapabilityRejected."""
        task, gateway = self.task, self.runner.gateway
        chain = chain_of(task.checked)
        site = site_of(task.checked, task.plan_hash, self.invocation, task.budgets)
        args = (await gateway.admit(chain.name, task.args, site)).args
        chains = gateway.call_context.chains
        if chains is None or not await chains.has(self.invocation.run_id, chain):
            raise CapabilityRejected(f"this run has not made the chain {chain.name} as it was verified")
        return args

    async def _on_record(self, parts: list[VerifiedStep]) -> str:
        plan = parts_plan(self.invocation.run_id, self.task.checked, parts)
        lease, now = self.invocation.lease, self.invocation.clock()
        await self.stores.plans.record(lease, plan, parts, now, kind="chain")
        return plan.plan_hash

    async def _next(
        self, part: VerifiedStep, scope: dict[str, JsonValue], plan_hash: str, known: bool, *, begun: bool
    ) -> StepResult | str:
        """Make one call, when nobody has to be asked first. Returns its result, or the gate it waits at.

        One that has `begun` asks nobody whether it may: how it ended is the question.
        """
        invocation, registry = self.invocation, self.runner.gateway.registry
        if invocation.cancelled_by:
            result = await self.runner.cancelled(part, invocation)
            return result if result.code == CANCELLED else await self._settle(result)
        capability = registry[part.step.capability or ""]
        try:
            args = check_arguments(capability, resolve_params(part.step.params, scope))
            gate_id = "" if begun else await self._gate(capability, part, args, plan_hash, known)
        except CapabilityError as error:
            return await self._settle(await self.runner.begun.unmade(part, error, invocation))
        if gate_id:
            gate = await self.gates.read(gate_id)
            if gate.status == "open":
                return gate_id
            emit_decision(gate, invocation)
            if no := refused(gate, part):
                return await self._settle(no)
        return await self._settle(await self._called(part, args, plan_hash))

    async def _gate(
        self,
        capability: Capability,
        part: VerifiedStep,
        args: dict[str, JsonValue],
        plan_hash: str,
        known: bool,
    ) -> str:
        """Open the gate of a part that needs a person; approving the chain included it where it was shown.

        Returns its id; empty when nobody has to be asked. Raises CapabilityRejected.
        """
        gateway, invocation, task = self.runner.gateway, self.invocation, self.task
        site = site_of(part, plan_hash, invocation, task.budgets, task.ask_from)
        capability = gateway.narrowed(capability, args, site)
        past = await gateway.past(capability, args, site)
        if past.key:
            return ""
        await gateway.refuse_again(capability, args, site, sources=False)
        judged = gateway.consent(capability, args, site, "chain")
        changed = self.changed and capability.effect != "pure"
        like = ""
        if capability.effect != "pure":
            like = await done_already(effect_call(capability, args, site), capability.risk, self.stores)
        if not (judged.asks or past.again or changed or like):
            return ""
        # What could never be called is not put before a person.
        refuse_secrets(capability, args, gateway.call_context.redactor)
        if capability.preflight:
            await asyncio.to_thread(capability.check, args, gateway.call_context)
        card = self._card(capability, part, args, plan_hash, judged)
        if past.again or like:
            card |= {"reason": once_more(past) if past.again else like, "done_before": invocation.run_id}
            return await self.gates.open(part, card, invocation)
        if "files" in card:
            return await self.gates.open(part, card, invocation)  # the chain shows no content of files
        alone = judged.own_gate or changed or not (known or shown_with_chain(part, capability))
        with_plan = None if alone else await self._with_plan(chain_of(task.checked), judged.ruling)
        return await self.gates.open(part, card, invocation, task.gate_id if known else "", with_plan)

    def _card(
        self,
        capability: Capability,
        part: VerifiedStep,
        args: dict[str, JsonValue],
        plan_hash: str,
        judged: Judgement,
    ) -> dict[str, JsonValue]:
        """Say what a person decides over."""
        task, call_context = self.task, self.runner.gateway.call_context
        return {
            "capability": capability.name,
            "step_id": part.step.id,
            "description": f"{part.step.description} {task.checked.step.description}".strip(),
            "args": args,
            "risk": capability.risk,
            "mode": capability.mode,
            "effect": capability.effect,
            "reason": judged.reason if judged.asks else CHANGED,
            "plan_hash": plan_hash,
            "chain": chain_of(task.checked).hash,
            "policy": evidence(judged.ruling, call_context).model_dump(mode="json"),
            "pin": part.pin,
            **tool_facts(part),
            "width": width_of(capability, args),
            **shown_files(files_read(capability, args, call_context)),
            **marked(args, self.invocation.words),
        }

    async def _with_plan(self, chain: Chain, ruling: Ruling) -> Decision | None:
        """Approve a part with the plan that shows its chain, where a person approved that plan."""
        gate = await self.gates.of_plan(self.task.plan_gate)
        if gate is None:
            return None
        if gate.status != "approved" or not shows_chain(gate.card, self.task.checked, chain):
            return None
        if ruling.needs_names and not is_named(gate):
            return None
        return approval(gate.decided_by or "", "plan", f"with the plan, at {gate.gate_id}")

    async def _called(self, part: VerifiedStep, args: dict[str, JsonValue], plan_hash: str) -> StepResult:
        invocation = self.invocation
        fields = call_fields(part, self.task.checked.uid)

        async def arguments() -> dict[str, JsonValue]:
            return args

        emit_start(invocation, fields, args, part.uid)
        async with invocation.board.slots:
            site = site_of(part, plan_hash, invocation, self.task.budgets, self.task.ask_from)
            result = await self.runner.attempt(site, arguments, fields, invocation)
        emit_end(invocation, fields, result, part.uid)
        return result

    async def _settle(self, result: StepResult) -> StepResult:
        """Write down how a part ended before the next one begins."""
        self.runner.record(result, self.invocation)
        self.invocation.board.settle(result)
        return result


def finished(checked: VerifiedStep, done: list[StepResult]) -> StepResult:
    """Make the result of a chain: that of its last step."""
    last = done[-1]
    return last.model_copy(
        update={
            "uid": checked.uid,
            "step_id": checked.step.id,
            "capability": checked.step.shown_name,
            "attempts": max(result.attempts for result in done),
            "seconds": round(sum(result.seconds for result in done), 3),
        }
    )


def shown_with_chain(part: VerifiedStep, capability: Capability) -> bool:
    """Say whether the definition of a chain shows a part well enough: no value in it that others wrote."""
    return not (part.tainted and any(map(has_reference, shown_once_known(capability, part.step.params))))


def stopped(checked: VerifiedStep, done: list[StepResult]) -> StepResult:
    """Make the result of a chain that did not come to its end: how its last part ended, and what was done."""
    last, before = done[-1], [f"{result.step_id} {result.capability}" for result in done[:-1]]
    reason = f"{last.step_id} {last.capability}: {last.error}"
    error = f"{reason} (done before it: {', '.join(before)})" if before else reason
    return bare_result(checked, last.status, code=last.code, error=error).model_copy(
        update={"part": last.uid}
    )
