"""The rules a plan has to pass. Each finding names a code, the step and a fix."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from planwright.capabilities.arguments import as_called, misfits
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.compensation_check import step_flaws
from planwright.capabilities.contract import Capability
from planwright.capabilities.expression import check_names, compiled
from planwright.capabilities.gateway.redact import why_not
from planwright.capabilities.policy.decide import decide
from planwright.capabilities.policy.file import Policy
from planwright.capabilities.policy.rulings import Ruling
from planwright.capabilities.registry import Registry
from planwright.critic import criteria
from planwright.domain.errors import CapabilityRejected
from planwright.domain.plan import CLOSING, Plan, PlanStep
from planwright.domain.references import malformed_references
from planwright.domain.results import Finding
from planwright.domain.risk import looser
from planwright.domain.schedule import find_cycle
from planwright.domain.verified_step import VerifiedStep
from planwright.planning.conditions import condition_flaws
from planwright.planning.decision_rules import decision_flaws
from planwright.planning.done_steps import TAKEN, about_others, is_done
from planwright.planning.idle_fields import idle_fields
from planwright.planning.reference_rules import reference_flaws
from planwright.settings.profile import RunProfile
from planwright.settings.settings import Settings
from planwright.state.agent_state import ModelRoute

MOST_ALIKE = 20  # findings of one kind about one step: whoever mends it needs no more


@dataclass(frozen=True)
class Rules:
    """What a plan is measured by; `registry` is what its run may use, chains it has made among it.

    `route` is the model of its run, None when there is none yet. A `fixed` plan has no limit of steps.
    """

    registry: Registry
    """Capabilities that the run may use, with the chains it has made."""
    settings: Settings
    """Settings of the workspace."""
    call_context: CallContext
    """What its calls will see, for preflights and the policy."""
    route: ModelRoute | None
    """Model of the run; None when there is none yet."""
    profile: RunProfile
    """What is in force for the run."""
    fixed: bool = False
    """Whether the plan is no model's, so that it has no limit of steps."""
    done: Mapping[str, VerifiedStep] = field(default_factory=dict)
    """Steps of the plan that were done under an earlier one of its run, by id: they run no more."""

    def all_spent(self, calls: int) -> bool:
        """Say whether a run that has made so many calls may make no more."""
        return (most := self.profile.limits.tool_calls) is not None and calls >= most

    @property
    def can_call(self) -> bool:
        """Whether the model of the run can call tools."""
        return self.route is not None and self.route.can_call


def check(plan: Plan, rules: Rules, tainted: Container[str] = frozenset()) -> list[Finding]:
    """Find everything that is wrong with a plan; an empty list means it may run.

    `tainted` are the ids of steps whose arguments may hold what others wrote.
    """
    registry, call_context = rules.registry, rules.call_context
    most = len(plan.steps) if rules.fixed else rules.settings.planning.max_steps + len(rules.done)
    findings = [*_shape(plan, most, rules.done), *_graph(plan), *_secrets(plan, registry, call_context)]
    findings += idle_fields(plan, registry)
    if call_context.policy.decisions and not findings:  # where a plan is no graph, nothing comes before
        findings += decision_flaws(plan, registry, call_context.policy)
    for step in plan.steps:
        findings += _gates(step, call_context.policy)
        for message, fix in islice(condition_flaws(plan, step, registry), MOST_ALIKE):
            findings.append(Finding(code="bad_arguments", step_id=step.id, message=message, fix=fix))
        # Which decision is missing, `decision_flaws` says.
        decided = tuple(call_context.policy.decisions)
        step_context = replace(call_context, tainted=step.id in tainted, decided=decided)
        if step.agentic:
            findings += _agentic(step, registry, step_context, rules.can_call)
        else:
            findings += _step(plan, step, registry, step_context)
        for flaw in step_flaws(step, registry):
            fix = "leave `compensation` out"
            findings.append(Finding(code="bad_arguments", step_id=step.id, message=flaw, fix=fix))
    return about_others(findings, rules.done)


def _gates(step: PlanStep, policy: Policy) -> Iterator[Finding]:
    there = f"there are: {', '.join(policy.gates)}" if policy.gates else "policy.toml names none"
    for name in step.requires:
        if step.closing:
            message = f"last words have no gate, and so not {name!r}"
            yield Finding(code="missing_gate", step_id=step.id, message=message, fix="leave it out")
        elif name not in policy.gates:
            message = f"there is no gate {name!r}"
            yield Finding(code="missing_gate", step_id=step.id, message=message, fix=there)


def _agentic(
    step: PlanStep, registry: Registry, call_context: CallContext, can_call: bool
) -> Iterator[Finding]:
    for name in step.tool_hints:
        if (tool := registry.get(name)) is None:
            yield _absent(step, name, registry)
        elif name in CLOSING:
            message = f"{name} is no tool of a step"
            yield Finding(code="not_permitted", step_id=step.id, message=message, fix="leave it out")
        else:
            yield from _denied(step, tool, decide(tool, None, call_context))
    if not can_call:
        message = "the model of this run cannot call tools"
        fix = "give the step a capability and params"
        yield Finding(code="not_permitted", step_id=step.id, message=message, fix=fix)
    if not step.description.strip():
        message = "nobody can tell what the step is to do"
        yield Finding(code="bad_arguments", step_id=step.id, message=message, fix="describe it")
    if step.success_criteria and step.success_criteria.cel:
        yield from _criterion(step, step.success_criteria.cel)


def _absent(step: PlanStep, name: str | None, registry: Registry) -> Finding:
    """Tell a capability that there is not from one that the agent of the run may not use."""
    near = ", ".join(registry.near(name or step.description)) or "see planwright capabilities"
    if name and registry.withholds(name):
        message, fix = registry.why_withheld(name), f"leave it out; nearest of its own: {near}"
        return Finding(code="not_permitted", step_id=step.id, message=message, fix=fix)
    if name and (server := registry.absent_server(name)):
        fix = f"plan without it, or mend the server `{server}`: planwright mcp ls"
        message = registry.why_unknown(name)
        return Finding(code="unknown_capability", step_id=step.id, message=message, fix=fix)
    message = f"there is no capability {name!r}"
    return Finding(code="unknown_capability", step_id=step.id, message=message, fix=f"nearest: {near}")


def ruling_of(capability: Capability, step: PlanStep, call_context: CallContext) -> Ruling:
    """Ask the policy about a step's arguments as far as they are known."""
    params = as_called(capability, step.params, literal=step.literal)
    return decide(capability, params, call_context, references=not step.literal)


def _denied(step: PlanStep, capability: Capability, ruling: Ruling) -> Iterator[Finding]:
    """Find a call that no person can approve, instead of asking one."""
    if ruling.answer == "deny":
        message = f"the policy denies {capability.name}: {ruling.why}"
        yield Finding(code="policy_conflict", step_id=step.id, message=message, fix="leave it out")


def _shape(plan: Plan, max_steps: int, done: Mapping[str, VerifiedStep]) -> Iterator[Finding]:
    if len(plan.steps) > max_steps + 1 or len(plan.work) > max_steps:
        new, most = len(plan.work) - len(done), max_steps - len(done)
        message = f"the plan has {new} steps, {most} are allowed"
        yield Finding(code="too_many_steps", message=message, fix="do less, or raise planning.max_steps")
    seen: set[str] = set()
    for step in plan.steps:
        if step.id in seen:
            taken = step.id in done and not is_done(step, done)
            name = done[step.id].step.shown_name if taken else ""
            message = f"{name} is done under this id" if taken else "two steps have this id"
            fix = TAKEN if taken else "give each its own"
            yield Finding(code="duplicate_id", step_id=step.id, message=message, fix=fix)
        seen.add(step.id)


def _secrets(plan: Plan, registry: Registry, call_context: CallContext) -> Iterator[Finding]:
    """Find secrets in a plan: whoever made it has seen what nobody should."""
    if name := call_context.redactor.held_in([plan.goal, plan.intent]):
        yield Finding(code="not_permitted", message=f"the goal holds the secret {name}", fix="leave it out")
    for step in plan.steps if call_context.redactor else ():
        tool = registry.get(step.capability or "")
        name = call_context.redactor.held_in(step.model_dump(mode="json"))
        flaw = (
            f"it holds the secret {name}"
            if name
            else why_not(tool, step.params, call_context.redactor)
            if tool
            else ""
        )
        if flaw:
            yield Finding(code="not_permitted", step_id=step.id, message=flaw, fix="leave it out")


def _graph(plan: Plan) -> Iterator[Finding]:
    order = {step.id: position for position, step in enumerate(plan.steps)}
    keys = {step.key: position for position, step in enumerate(plan.steps)}
    for position, step in enumerate(plan.steps):
        for name in (*step.depends_on, *step.references, *step.conditions):
            if name not in order:
                fix = f"name one of {', '.join(order)}"
                yield Finding(
                    code="unknown_dependency", step_id=step.id, message=f"there is no step {name}", fix=fix
                )
        for name in (*step.references, *step.conditions):
            if order.get(name, -1) >= position:
                message = f"it refers to {name}, which does not come before it"
                yield Finding(
                    code="forward_reference", step_id=step.id, message=message, fix="put it after that step"
                )
        for key in step.inputs:
            if keys.get(key, position) >= position:
                message = f"no earlier step publishes {key!r}"
                yield Finding(
                    code="missing_input", step_id=step.id, message=message, fix="add a step that does"
                )
    for checkpoint in plan.decision_checkpoints:
        if checkpoint.after_step not in order:
            message = f"the decision {checkpoint.decision_id} is to come after {checkpoint.after_step!r}"
            fix = f"name one of {', '.join(order)}"
            yield Finding(code="unknown_dependency", message=f"{message}, which is no step", fix=fix)
    needs = {step.id: [n for n in plan.dependencies(step) if n in order] for step in plan.steps}
    if cycle := find_cycle(needs):
        path = " → ".join(cycle)
        yield Finding(
            code="cycle",
            step_id=cycle[0],
            message=f"the steps wait for each other: {path}",
            fix="cut one edge",
        )


def _step(plan: Plan, step: PlanStep, registry: Registry, call_context: CallContext) -> Iterator[Finding]:
    tool = registry.get(step.capability or "")
    if tool is None:
        yield _absent(step, step.capability, registry)
        return
    yield from _arguments(plan, step, tool, registry)
    if step.approval_mode and looser(step.approval_mode, tool.mode):
        message = f"it declares {step.approval_mode}, {tool.name} is {tool.mode}"
        yield Finding(
            code="approval_mode_mismatch", step_id=step.id, message=message, fix=f"declare {tool.mode}"
        )
    try:
        tool.check(step.params, call_context)
        tool.narrowed(step.params, call_context)
        ruling = ruling_of(tool, step, call_context)
    except CapabilityRejected as error:
        yield Finding(code="not_permitted", step_id=step.id, message=error.cause, fix=error.next_step)
        return
    yield from _denied(step, tool, ruling)
    if step.success_criteria and step.success_criteria.cel:
        yield from _criterion(step, step.success_criteria.cel)


def _arguments(plan: Plan, step: PlanStep, capability: Capability, registry: Registry) -> Iterator[Finding]:
    for text in () if step.literal else malformed_references(step.params)[:MOST_ALIKE]:
        message = f"{text[:200]} is no reference"
        yield Finding(
            code="bad_arguments", step_id=step.id, message=message, fix="write {{steps.<id>.output.<path>}}"
        )
    known = ", ".join(capability.args_schema.get("properties", {}))
    for message in misfits(capability, step.params, literal=step.literal):
        yield Finding(code="bad_arguments", step_id=step.id, message=message, fix=f"it takes: {known}")
    if not step.literal:
        for message, fix in islice(reference_flaws(plan, step, registry), MOST_ALIKE):
            yield Finding(code="bad_arguments", step_id=step.id, message=message, fix=fix)


def _criterion(step: PlanStep, expression: str) -> Iterator[Finding]:
    try:
        check_names(compiled(expression), criteria.NAMES)
    except ValueError as error:
        message = f"success_criteria {error}"
        yield Finding(code="bad_arguments", step_id=step.id, message=message, fix="e.g. output.count > 0")
