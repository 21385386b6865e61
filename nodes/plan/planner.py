"""planner: one structured model call that turns a task into a plan. It has no side effects."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace

from langchain_core.runnables import RunnableConfig

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.chains.run_chains import allowed_in_run
from planwright.capabilities.contract import Capability
from planwright.capabilities.policy.decisions import DecisionSpec
from planwright.capabilities.policy.file import Policy
from planwright.capabilities.registry import Registry
from planwright.domain.errors import (
    FeedbackUnheard,
    ModelCancelled,
    ModelError,
    ModelOutputInvalid,
    ModelOverdue,
    PlanInvalid,
)
from planwright.domain.hashing import canonical_json
from planwright.domain.plan import CLOSING, DELEGATE, WHOLE
from planwright.execution.planner_message import aftermath, opening
from planwright.execution.run_so_far import read_so_far
from planwright.execution.surroundings import surroundings_reader, table_names
from planwright.models.calling import Models
from planwright.models.conversation.thread_messages import is_of_a_call
from planwright.models.model_calls import Prompt
from planwright.models.providers.matching import on_offer
from planwright.models.roles import role_route
from planwright.nodes.plan.task_extraction import history
from planwright.planning.catalogue import catalogue, catalogue_scope, describe_capability, detailed
from planwright.planning.done_steps import continued
from planwright.planning.plan_proposal import PlanProposal, proposal_of
from planwright.planning.reply_schema import plan_form
from planwright.prompts import instructed, prompts_hash
from planwright.records.stores import Stores
from planwright.settings.profile import RunProfile
from planwright.settings.settings import Settings
from planwright.state.agent_state import AgentState, AgentUpdate, Attempts
from planwright.state.compaction import visible_messages
from planwright.state.invocation import Invocation, invocation_of
from planwright.state.node import Node

NOT_TASKS = frozenset((*CLOSING, DELEGATE, WHOLE))  # what nobody asks for by itself
MOST_SYNONYMS = 50  # of what was read as something else


def planner(
    models: Models, registry: Registry, stores: Stores, settings: Settings, call_context: CallContext
) -> Node[AgentState, AgentUpdate]:
    """Freeze the compiled context, ask for a plan, and read the reply."""
    surroundings = surroundings_reader(registry, call_context)

    async def planner(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        invocation, attempts = invocation_of(config), state.get("attempts", Attempts())
        if invocation.cancelled_by:
            return {"status": "cancelled", "answer": f"Cancelled by {invocation.cancelled_by}."}
        profile = invocation.profile
        allowed = await allowed_in_run(registry, call_context.chains, invocation.run_id, profile)
        names = dict.fromkeys([*state["shortlist"], *allowed.chains])
        shortlisted = [capability for name in names if (capability := allowed.get(name))]
        so_far = await read_so_far(state, stores)
        context = compiled_context(state, shortlisted, allowed, profile, call_context.policy)
        context |= {
            **so_far.context_parts(state),
            "databases": await table_names(names, invocation, call_context, anew=True),
            "about": await surroundings(invocation),
            "models": on_offer(settings.providers, state["route"]),
        }
        prompt = _prompt(context, allowed, shortlisted, state, profile, settings)
        try:
            proposal = await _ask(models, state, prompt, invocation, settings, attempts.plans)
        except ModelError as error:
            await invocation.goes_on_after(error)
            raise _unheard(state, error, invocation) from error
        update: AgentUpdate = {
            "attempts": attempts.model_copy(update={"plans": attempts.plans + 1}),
            "context_hash": await asyncio.to_thread(stores.blobs.put, canonical_json(context)),
            "changes": [],
        }
        if proposal.plan is None:
            return {**update, **_refusal(state, proposal, allowed)}
        whole, done, read_as = continued(proposal.plan, so_far.done, so_far.calls)
        plan = whole.model_copy(
            update={"plan_id": f"plan_{uuid.uuid4().hex[:12]}", "revision": attempts.revision + 1}
        )
        if read_as := (*proposal.read_as, *read_as):
            event_fields = {"read_as": list(read_as[:MOST_SYNONYMS])}
            invocation.emit("plan_repaired", event_fields, f"{attempts.plans}:read")
        data = {"plan_id": plan.plan_id, "goal": plan.goal, "steps": len(plan.work)}
        data |= {"repaired": proposal.repaired}
        invocation.emit("plan_created", {**data, "context_hash": update["context_hash"]}, str(attempts.plans))
        return {**update, "plan": plan, "done": list(done)}

    return planner


def _prompt(
    context: dict[str, object],
    allowed: Registry,
    shortlisted: list[Capability],
    state: AgentState,
    profile: RunProfile,
    settings: Settings,
) -> Prompt:
    """Say what can be done in the system message, which stays the same, and what is to do in the other."""
    lines = catalogue(catalogue_scope(allowed, [tool.name for tool in shortlisted]))
    most = str(settings.planning.max_steps)
    prompt = Prompt(
        role="planner",
        system=instructed("planner", profile.instructions, max_steps=most, catalogue=lines),
        user=opening(context, detailed(shortlisted, allowed.matches(state["task"].task))),
        schema=plan_form(
            judged=role_route(settings, "critic", state["route"]) is not None,
            decides=bool(context["decisions"]),
        ),
        schema_in_words=True,
        capabilities=_described(shortlisted),
    )
    draft, aftermath_text = aftermath(context)
    return prompt.going_on(draft, aftermath_text) if aftermath_text else prompt


def compiled_context(
    state: AgentState, shortlisted: list[Capability], registry: Registry, profile: RunProfile, policy: Policy
) -> dict[str, object]:
    """Gather everything the planner may see, and the versions it was made under."""
    task, seen = state["task"], visible_messages(state["messages"], state.get("compacted"))
    return {
        "task": task.task,
        "history": history(seen) if task.depends_on_chat_history or any(map(is_of_a_call, seen)) else [],
        "memories": list(task.memories),
        "capabilities": _described(shortlisted),
        "findings": [str(finding) for finding in state.get("findings", [])],
        "gates": {name: gate.reason for name, gate in policy.gates.items()},
        "decisions": [_as_known(spec) for spec in policy.decisions.values()],
        "instructions": profile.instructions,
        "versions": {
            "prompts": prompts_hash(),
            "registry": registry.hash,
            "policy": policy.hash,
            "profile": profile.hash,
        },
    }


def _described(tools: list[Capability]) -> list[dict[str, object]]:
    return [describe_capability(tool) for tool in sorted(tools, key=lambda c: (c.guide.priority, c.name))]


async def _ask(
    models: Models, state: AgentState, prompt: Prompt, invocation: Invocation, settings: Settings, round_: int
) -> PlanProposal:
    """Ask until the reply can be read: transport errors with backoff, unreadable replies with the error."""
    repairs, request, reply, in_all_s = 0, prompt, "", settings.planner.timeout_s
    ends_at_s = invocation.worked_s + in_all_s

    async def ask(failures: int) -> str:
        nonlocal reply
        key = f"planner:{round_}:{repairs}:{failures}"
        within = replace(request, timeout_s=ends_at_s - invocation.worked_s)
        reply = await models.complete(state["route"], within, invocation, key)
        return reply

    while True:
        reply = ""
        try:
            return proposal_of(await models.persist(ask))
        except (ModelOutputInvalid, PlanInvalid) as error:
            repairs += 1
            if repairs > settings.planner.repairs:
                cause = f"the planner's reply could not be read after {repairs} tries: {error.cause}"
                raise ModelOutputInvalid(cause, "try again, or choose a stronger model") from error
            invocation.emit("plan_repaired", {"error": error.cause, "try": repairs}, f"{round_}:{repairs}")
            request = request.going_on(reply, f"Your last reply was refused: {error}\n")
        except ModelOverdue as error:
            next_step = "try again later, or raise planner.timeout_s"
            raise ModelOverdue(f"there was no plan after {in_all_s:g} s", next_step) from error


def _unheard(state: AgentState, error: ModelError, invocation: Invocation) -> ModelError:
    """Keep what a person said for when a model can hear it; other failures are what they are."""
    unheard = any(finding.code == "feedback" for finding in state.get("findings", []))
    if not unheard or isinstance(error, ModelCancelled):
        return error
    return FeedbackUnheard(
        f"{error.cause}; what you said is on record, and no plan was made of it",
        f"when the model is back: planwright resume {invocation.thread_id}, or: planwright cancel",
    )


def _as_known(spec: DecisionSpec) -> dict[str, object]:
    """Tell a planner of a decision: what it rests on, what may come after it alone, and its gates."""
    return spec.model_dump(mode="json", exclude={"version", "outcomes"}, exclude_defaults=True)


def _refusal(state: AgentState, proposal: PlanProposal, registry: Registry) -> AgentUpdate:
    reason = proposal.cannot
    rejected = next((f.message for f in state.get("findings", []) if f.code == "rejected"), None)
    if rejected is not None:
        answer = f"The plan was rejected {rejected}. Nothing of it was run, and there is no other plan."
        return {"status": "rejected", "answer": answer}
    if feedback := next((f.message for f in state.get("findings", []) if f.code == "feedback"), None):
        answer = f"I have no plan that follows what you said ({feedback}): {reason}."
        return {"status": "rejected", "answer": answer}
    if state.get("findings"):
        lines = "\n".join(f"- {finding}" for finding in state["findings"])
        return {"status": "failed", "answer": f"It did not work, and there is no other plan:\n{lines}"}
    if proposal.instead:
        requests = "\n".join(f"  {request}" for request in proposal.instead)
        return {
            "status": "failed",
            "answer": f"I cannot do that: {reason}.\nI understand requests like these:\n{requests}",
        }
    able = ", ".join(capability.name for capability in registry if capability.name not in NOT_TASKS)
    return {"status": "failed", "answer": f"I cannot do that: {reason}.\nWhat I can do: {able}."}
