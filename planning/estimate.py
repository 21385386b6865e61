"""What a plan will use, as far as that is known before it runs: the estimate on its card.

A direct step is one call, a chain as many as it has steps. A step left to a model asks it at least once,
and nobody knows how often it asks and calls. The answer at the end is one more call of a model. Of what
is sent, only the words that are fixed now are counted; results come on top, and so do the replies.
"""

from __future__ import annotations

from collections.abc import Mapping

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langchain_core.messages.utils import count_tokens_approximately
from pydantic import BaseModel, ConfigDict, JsonValue

from planwright.capabilities.registry import Registry
from planwright.domain.errors import BudgetExceeded
from planwright.domain.plan import Plan
from planwright.domain.results import MICRO_CENTS_PER_DOLLAR, Finding, StepResult
from planwright.domain.shortage import Shortage
from planwright.domain.verified_step import VerifiedStep
from planwright.models.model_calls import MAX_TOKENS
from planwright.models.providers.matching import Providers, prices_of, step_route
from planwright.models.providers.pricing import price
from planwright.models.roles import serving
from planwright.planning.rules import Rules
from planwright.presentation.figures import amount_text
from planwright.prompts import instructed, render
from planwright.records.budget_usage import Spent
from planwright.records.limits import Unit, micro_cents
from planwright.settings.profile import RunLimits, RunProfile
from planwright.state.agent_state import ModelRoute


class Estimate(BaseModel):
    """What a plan needs at least: calls, tokens that are sent, and what they cost."""

    model_config = ConfigDict(frozen=True)
    tool_calls: int
    """Calls of capabilities; those of chains counted one by one."""
    effects: int = 0
    """Those of them that change something."""
    model_calls: int
    """Calls of models."""
    tokens: int
    """Tokens that are sent to models."""
    cost: int | None
    """Cost of sending them in micro-cents; None where a price is unknown."""
    at_least: bool
    """Whether steps are left to a model, so that all of it may be more."""
    room_tokens: int
    """Tokens that have to be free for one more reply, or no model is asked; 0 where none is needed."""
    room_cost: int | None
    """Most that one reply may cost, in micro-cents; None where a price is unknown."""


def estimate(
    plan: Plan, checked: list[VerifiedStep], results: Mapping[str, StepResult], rules: Rules
) -> Estimate:
    """Estimate what is still open of a plan; steps whose results are kept cost nothing."""
    route, settings = rules.route, rules.settings
    todo = [entry for entry in checked if entry.uid not in results]
    agentic = [entry for entry in todo if entry.step.agentic]
    providers, sent = settings.providers, list[tuple[ModelRoute | None, int]]()
    for entry in agentic:
        by = step_route(providers, serving(settings, "agent", route), entry.step.routed_by) if route else None
        sent.append((by, _count(*_step_prompt(entry, rules.registry, rules.profile))))
    if plan.steps and plan.steps[-1].capability == "respond":
        by = serving(settings, "respond", route) if route else None
        sent.append((by, _count(render("respond"), " ".join(step.description for step in plan.steps))))
    by_route = {by: sum(count for other, count in sent if other == by) for by, _ in sent or [(route, 0)]}
    costs = [_price(providers, by, count) for by, count in by_route.items()]
    rooms = [_room(providers, by) for by, _ in sent if by]
    return Estimate(
        tool_calls=sum(call_count(entry) for entry in todo if not entry.step.agentic),
        effects=sum(effect_count(entry, rules.registry) for entry in todo if not entry.step.agentic),
        model_calls=len(sent),
        tokens=sum(count for _, count in sent),
        cost=None if None in costs else sum(filter(None, costs)),
        at_least=bool(agentic),
        room_tokens=MAX_TOKENS if sent else 0,
        room_cost=None if None in rooms else max(filter(None, rooms), default=0),
    )


def _price(providers: Providers, route: ModelRoute | None, tokens: int) -> int | None:
    """Price what is sent to the model of a route; None when nobody knows."""
    return price(route, tokens, 0, prices_of(providers, route)) if route else None


def _room(providers: Providers, route: ModelRoute) -> int | None:
    """Price the longest reply of the model of a route."""
    return price(route, 0, MAX_TOKENS, prices_of(providers, route))


def call_count(entry: VerifiedStep) -> int:
    """Count the calls of a step that is no agent's: those of a chain are known."""
    return len(entry.chain.calls) if entry.chain else 1


def effect_count(entry: VerifiedStep, registry: Registry) -> int:
    """Count the calls of a step, or of its chain, that change something; nobody knows one that is gone."""
    if entry.chain is None:
        return int(entry.effect != "pure")
    parts = (registry.get(call.capability) for call in entry.chain.calls)
    return sum(part is not None and part.effect != "pure" for part in parts)


def in_all(needed: Estimate, spent: Spent) -> dict[str, JsonValue]:
    """Put what a plan needs, what its run has used before it, and both together, as plain data."""
    text: dict[str, JsonValue] = {name: getattr(needed, name) for name in ("tool_calls", "at_least")}
    return text | {
        "model_calls": needed.model_calls,
        "tokens": needed.tokens,
        "cost": needed.cost,
        "run": {
            "model_calls": spent.model_calls + needed.model_calls,
            "tokens": spent.tokens + needed.tokens,
            "cost": None if needed.cost is None else spent.cost + needed.cost,
        },
    }


def over_budget(needed: Estimate, spent: Spent, limits: RunLimits, effects: int = 0) -> list[Finding]:
    """Find the limits of a run of which less is left than a plan needs, after so many effects."""
    return [
        Finding(code="budget_exceeded", message=error.cause, fix=error.next_step)
        for error in short_of(needed, spent, limits, effects)
    ]


def short_of(needed: Estimate, spent: Spent, limits: RunLimits, effects: int = 0) -> list[BudgetExceeded]:
    """Say of which limits of a run less is left than a plan needs, after so many effects."""
    errors = []
    more = "at least " if needed.at_least else ""
    if limits.tool_calls is not None and needed.tool_calls > (left := limits.tool_calls - spent.calls):
        text = f"{more}{needed.tool_calls} calls planned, {max(left, 0)} left of"
        errors.append(_short(text, limits, "tool_calls", needed.tool_calls - left))
    if limits.effects is not None and needed.effects > (left := limits.effects - effects):
        text = f"{more}{needed.effects} effects planned, {max(left, 0)} left of"
        errors.append(_short(text, limits, "effects", needed.effects - left))
    costs: tuple[tuple[Unit, int | None, int, int, int], ...] = (
        ("tokens", limits.tokens, needed.tokens, needed.room_tokens, spent.tokens),
        ("cost", _most(limits), needed.cost or 0, needed.room_cost or 0, spent.cost),
    )
    for unit, most, sent, room, used in costs:
        if most is not None and sent + room > most - used:
            text = _words(unit, needed, sent, room, max(most - used, 0))
            scale = MICRO_CENTS_PER_DOLLAR if unit == "cost" else 1
            errors.append(_short(text, limits, unit, (sent + room + used - most) / scale))
    return errors


def _most(limits: RunLimits) -> int | None:
    return None if limits.cost is None else micro_cents(limits.cost)


def _words(unit: Unit, needed: Estimate, sent: int, room: int, left: int) -> str:
    calls = f"{needed.model_calls} call{'s' * (needed.model_calls != 1)} of the model"
    return (
        f"{'at least ' * needed.at_least}{calls} planned: {amount_text(unit, sent)} to send"
        f" and room for a reply, {amount_text(unit, room)}; {amount_text(unit, left)} left of"
    )


def _short(text: str, limits: RunLimits, unit: str, missing: float) -> BudgetExceeded:
    setting, most = limits.setting(unit), float(getattr(limits, unit))
    return BudgetExceeded(setting, f"{text} {setting}", f"raise {setting}", Shortage(unit, most, missing))


def _step_prompt(entry: VerifiedStep, registry: Registry, profile: RunProfile) -> tuple[str, str]:
    tools = (registry.get(name) for name in entry.step.tool_hints)
    offered = " ".join(f"{tool.name} {tool.description} {tool.args_schema}" for tool in tools if tool)
    step = entry.step
    return instructed("agent", profile.instructions), f"{step.description} {step.expected_output} {offered}"


def _count(system: str, message: str) -> int:
    messages: list[AnyMessage] = [SystemMessage(system), HumanMessage(message)]
    return count_tokens_approximately(messages)
