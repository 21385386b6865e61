"""planner: one structured model call that turns a task into a plan. It has no side effects."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass, replace

from langchain_core.runnables import RunnableConfig

from planwright.capabilities.builtin.databases import Tables, schemas
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.chains.run_chains import allowed_in_run
from planwright.capabilities.contract import Capability
from planwright.capabilities.policy.decisions import DecisionSpec
from planwright.capabilities.policy.file import Policy
from planwright.capabilities.registry import Registry
from planwright.checkpoints.blobs import Blobs
from planwright.checkpoints.serde import storable
from planwright.domain.errors import FeedbackUnheard, ModelError, ModelOutputInvalid, PlanInvalid
from planwright.domain.hashing import canonical_json
from planwright.domain.plan import CLOSING, DELEGATE, WHOLE, Plan
from planwright.domain.plan_reading import read_plan
from planwright.models.calling import Models
from planwright.models.json_reply import read_value
from planwright.models.model_calls import Prompt
from planwright.models.providers.matching import on_offer
from planwright.nodes.plan.task_extraction import history
from planwright.planning.catalogue import MOST_LINES, catalogue, describe_capability, detailed, details
from planwright.planning.reply_schema import PLAN_FORM
from planwright.prompts import instructed, prompts_hash, section
from planwright.settings.profile import RunProfile
from planwright.settings.settings import Settings
from planwright.state.agent_state import AgentState, AgentUpdate, Attempts
from planwright.state.compaction import visible_messages
from planwright.state.invocation import Invocation, invocation_of
from planwright.state.node import Node

SQL = "sql.query"
NOT_TASKS = frozenset((*CLOSING, DELEGATE, WHOLE))  # what nobody asks for by itself


MOST_SYNONYMS = 50  # of what was read as something else


@dataclass(frozen=True)
class PlanProposal:
    """What the model answered: a plan, questions, or the reason why there is none."""

    plan: Plan | None = None
    """The plan; None where the model made none."""
    cannot: str = ""
    """Why there is no plan, in words; "" where there is one."""
    instead: tuple[str, ...] = ()
    """Requests of a kind that is understood, where there is no plan."""
    repaired: bool = False
    """Whether it was written otherwise than a plan is spelled."""
    read_as: tuple[str, ...] = ()
    """What of the plan was read as something else, a sentence each."""


def planner(
    models: Models, registry: Registry, blobs: Blobs, settings: Settings, call_context: CallContext
) -> Node[AgentState, AgentUpdate]:
    """Freeze the compiled context, ask for a plan, and read the reply."""

    async def planner(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        invocation, attempts = invocation_of(config), state.get("attempts", Attempts())
        if invocation.cancelled_by:
            return {"status": "cancelled", "answer": f"Cancelled by {invocation.cancelled_by}."}
        profile = invocation.profile
        allowed = await allowed_in_run(registry, call_context.chains, invocation.run_id, profile)
        names = dict.fromkeys([*state["shortlist"], *allowed.chains])
        shortlisted = [capability for name in names if (capability := allowed.get(name))]
        context = compiled_context(state, shortlisted, allowed, profile, call_context.policy)
        context |= {
            "databases": await _databases(shortlisted, call_context),
            "models": on_offer(settings.providers, state["route"]),
        }
        prompt = _prompt(context, allowed, shortlisted, state, profile, settings)
        try:
            proposal = await _ask(models, state, prompt, invocation, settings, attempts.plans)
        except ModelError as error:
            raise _unheard(state, error, invocation) from error
        update: AgentUpdate = {
            "attempts": attempts.model_copy(update={"plans": attempts.plans + 1}),
            "context_hash": await asyncio.to_thread(blobs.put, canonical_json(context)),
            "changes": [],
        }
        if proposal.plan is None:
            return {**update, **_refusal(state, proposal, allowed)}
        plan = proposal.plan.model_copy(
            update={"plan_id": f"plan_{uuid.uuid4().hex[:12]}", "revision": attempts.revision + 1}
        )
        if proposal.read_as:
            event_fields = {"read_as": list(proposal.read_as[:MOST_SYNONYMS])}
            invocation.emit("plan_repaired", event_fields, f"{attempts.plans}:read")
        data = {"plan_id": plan.plan_id, "goal": plan.goal, "steps": len(plan.work)}
        data |= {"repaired": proposal.repaired}
        invocation.emit("plan_created", {**data, "context_hash": update["context_hash"]}, str(attempts.plans))
        return {**update, "plan": plan}

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
    lines = catalogue(list(allowed) if len(allowed) <= MOST_LINES else shortlisted)
    most = str(settings.planning.max_steps)
    return Prompt(
        role="planner",
        system=instructed("planner", profile.instructions, max_steps=most, catalogue=lines),
        user=_message(context, detailed(shortlisted, allowed.matches(state["task"].task))),
        schema=PLAN_FORM,
        schema_in_words=True,
        timeout_s=_timeout(state["decision"].score, settings.planner.timeout_s),
        capabilities=_described(shortlisted),
    )


def compiled_context(
    state: AgentState, shortlisted: list[Capability], registry: Registry, profile: RunProfile, policy: Policy
) -> dict[str, object]:
    """Gather everything the planner may see, and the versions it was made under."""
    task, seen = state["task"], visible_messages(state["messages"], state.get("compacted"))
    newest = {entry.uid for entry in state.get("checked", ())}
    results = sorted(state.get("results", {}).values(), key=lambda result: result.uid in newest)
    done = {
        result.step_id: {"capability": result.capability, "status": result.status}
        for result in results  # of steps with the same id that of the newest plan counts
        if result.status == "completed"
    }
    return {
        "task": task.task,
        "history": history(seen) if task.depends_on_chat_history else [],
        "memories": list(task.memories),
        "capabilities": _described(shortlisted),
        "done": done,
        "draft": _as_steps(state.get("draft")),
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


async def _databases(shortlisted: list[Capability], call_context: CallContext) -> dict[str, Tables]:
    """List the user's databases where the plan may read them."""
    if not any(capability.name == SQL for capability in shortlisted):
        return {}
    return await asyncio.to_thread(schemas, call_context)


def proposal_of(text: str) -> PlanProposal:
    """Read a planner's reply. Raises ModelOutputInvalid or PlanInvalid, saying what is wrong."""
    value, repaired = read_value(text)
    fields = value if isinstance(value, dict) else {}
    if fields.get("cannot"):
        instead = fields.get("instead")
        requests = tuple(map(str, instead[:3])) if isinstance(instead, list) else ()
        return PlanProposal(cannot=str(fields["cannot"]), instead=requests, repaired=repaired)
    if fields.get("clarify"):
        value = _asking(fields["clarify"])
    try:
        plan, read_as = read_plan(value)
        storable(plan.model_dump(mode="json"))
    except (TypeError, RecursionError) as error:
        raise PlanInvalid(
            f"the plan holds what cannot be stored: {error}", "use plain text and numbers"
        ) from error
    return PlanProposal(plan, repaired=repaired or bool(read_as), read_as=read_as)


def _asking(clarify: object) -> dict[str, object]:
    """Make the plan that asks what is meant."""
    questions = clarify if isinstance(clarify, list) else [clarify]
    params = {"questions": [str(question) for question in questions[:4]]}
    asking = {"id": "s1", "capability": "clarify", "params": params, "estimated_risk": "None"}
    return {"goal": "Ask what is meant", "steps": [asking]}


async def _ask(
    models: Models, state: AgentState, prompt: Prompt, invocation: Invocation, settings: Settings, round_: int
) -> PlanProposal:
    """Ask until the reply can be read: transport errors with backoff, unreadable replies with the error."""
    repairs, request = 0, prompt

    async def ask(failures: int) -> str:
        key = f"planner:{round_}:{repairs}:{failures}"
        return await models.complete(state["route"], request, invocation, key)

    while True:
        try:
            return proposal_of(await models.persist(ask))
        except (ModelOutputInvalid, PlanInvalid) as error:
            repairs += 1
            if repairs > settings.planner.repairs:
                cause = f"the planner's reply could not be read after {repairs} tries: {error.cause}"
                raise ModelOutputInvalid(cause, "try again, or choose a stronger model") from error
            invocation.emit("plan_repaired", {"error": error.cause, "try": repairs}, f"{round_}:{repairs}")
            request = replace(prompt, user=f"{prompt.user}\nYour last reply was refused: {error}\n")


def _unheard(state: AgentState, error: ModelError, invocation: Invocation) -> ModelError:
    """Keep what a person said for when a model can hear it; other failures are what they are."""
    if not any(finding.code == "feedback" for finding in state.get("findings", [])):
        return error
    return FeedbackUnheard(
        f"{error.cause}; what you said is on record, and no plan was made of it",
        f"when the model is back: planwright resume {invocation.thread_id}, or: planwright cancel",
    )


def _message(context: dict[str, object], of_task: list[Capability]) -> str:
    """Say what changes from request to request, the task and what is of it last; leave out what is empty."""
    own = [capability for capability in of_task if not capability.server]
    foreign = [capability for capability in of_task if capability.server]
    sections = [
        section("gates", context["gates"]),
        section("decisions", context["decisions"]),
        section("models", context["models"]),
        section("databases", context["databases"], foreign=True),
        section("schemas", details(own)),
        section("schemas", details(foreign), foreign=True),
        section("memories", context["memories"], foreign=True),
        section("history", context["history"], foreign=True),
        section("task", context["task"]),
        section("done", context["done"]),
        section("draft", context["draft"]),
        section("findings", context["findings"], foreign=True),
    ]
    return "".join(sections)


def _as_known(spec: DecisionSpec) -> dict[str, object]:
    """Tell a planner of a decision: what it rests on, what may come after it alone, and its gates."""
    return spec.model_dump(mode="json", exclude={"version", "outcomes"}, exclude_defaults=True)


def _as_steps(draft: Plan | None) -> dict[str, object]:
    """Spell the plan a person spoke about as a planner spells one: without what is left at its default."""
    return draft.model_dump(mode="json", include={"goal", "steps"}, exclude_defaults=True) if draft else {}


def _timeout(score: int, classes: tuple[float, float, float]) -> float:
    """Pick the time limit of a task class: score ≤ 2, 3–4, ≥ 5 (5 to 30 s)."""
    return classes[0] if score <= 2 else classes[1] if score <= 4 else classes[2]


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
