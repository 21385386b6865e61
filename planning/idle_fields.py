"""Fields that would count for nothing in the kind of step they stand in: found, not ignored."""

from __future__ import annotations

from collections.abc import Iterator

from planwright.capabilities.registry import Registry
from planwright.domain.plan import DELEGATE, Plan, PlanStep
from planwright.domain.results import Finding
from planwright.domain.risk import looser
from planwright.planning.surface import surface_of


def idle_fields(plan: Plan, registry: Registry) -> Iterator[Finding]:
    """Find what a step says that nothing would follow from."""
    for step in plan.steps:
        for message, fix in _of_agent(step) if step.agentic else _of_call(step):
            yield Finding(code="bad_arguments", step_id=step.id, message=message, fix=fix)
        if step.agentic:
            yield from _mode(step, registry)
    keys: dict[str, str] = {}
    for step in plan.steps:
        other = keys.setdefault(step.key, step.id)
        if other != step.id:
            message = f"it publishes {step.key!r}, and so does {other}"
            yield Finding(code="duplicate_id", step_id=step.id, message=message, fix="give each its own key")


def _of_call(step: PlanStep) -> Iterator[tuple[str, str]]:
    if step.model_hint is not None:
        yield "a fixed call asks no model", "leave `model_hint` out, or `capability`"
    if step.returns is not None:
        yield "a fixed call returns what its capability does", "leave `returns` out, or `capability`"
    if others := [name for name in step.tool_hints if name != step.capability]:
        yield (
            f"a fixed call uses no other tools, as {', '.join(others)}",
            "leave `tool_hints` out, or `capability`",
        )


def _of_agent(step: PlanStep) -> Iterator[tuple[str, str]]:
    if step.on_empty is not None:
        yield "a step for a model sees what was found", "leave `on_empty` out, and say it in its description"
    if step.params and not step.tool_hints:
        fix = "name the capability, or leave params out and say in its description what a model is to do"
        yield "it has params, and names no capability that takes them", fix
    elif step.params:
        yield "a step that an agent does takes no params", "say it in its description"
    if step.timeout_s is not None:
        yield "a step that an agent does has no time limit of its own", "leave `timeout_s` out"


def _mode(step: PlanStep, registry: Registry) -> Iterator[Finding]:
    """Find a declared mode that is not that of the tools: an agent's calls are asked about one by one."""
    named = (registry.get(name) for name in step.tool_hints if name != DELEGATE)
    mode = surface_of(tool for tool in named if tool).mode
    if step.approval_mode is None or step.approval_mode == mode:
        return
    looser_ = looser(step.approval_mode, mode)
    fix = f"declare {mode}" if looser_ else "leave it out: each of its calls asks as it must"
    message = f"it declares {step.approval_mode}, its tools are {mode}"
    yield Finding(code="approval_mode_mismatch", step_id=step.id, message=message, fix=fix)
