"""`planwright doctor --probe`: what each endpoint can do, and what is used in place of the rest."""

from __future__ import annotations

import asyncio
from pathlib import Path

from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.views import rendering as views
from planwright.domain.errors import PlanwrightError
from planwright.models.providers.probe import ABILITIES, ModelAbility, Probe
from planwright.records.records import open_records
from planwright.security.redaction.known_secrets import redactor_of
from planwright.settings.providers import ProviderSettings
from planwright.settings.settings import Settings
from planwright.telemetry.langsmith_runs import LangSmithRuns

_STYLES = {True: "green", False: "yellow", None: "yellow"}
INSTEAD = {
    "function_calling": "tools are called in words",
    "streaming": "answers come whole",
    "all parameters": "left out of each request, by itself",
}


def probe(workspace: Path) -> int:
    """Try out every provider; say what to set where its settings promise what it cannot do."""
    settings = load_trusted(workspace)
    if not settings.providers:
        views.console().print(views.label("probe", "no provider is configured: the embedded planner serves"))
        return 0
    with LangSmithRuns(settings.tracing, redactor_of(settings)).around():
        return asyncio.run(_all(settings))


async def _all(settings: Settings) -> int:
    problems, records = 0, open_records(settings.store_folder, url=settings.store_url)
    try:
        for name, provider in settings.providers.items():
            for served in provider.served:
                views.console().print(views.label("probe", f"{name}: {served.model}", "bold"))
                try:
                    abilities = [
                        ability
                        async for ability in Probe(
                            name, served, records.budgets, records.time.now
                        ).abilities()
                    ]
                except PlanwrightError as error:
                    views.console().print(views.label("", f"!!   {error}", "red"))
                    problems += 1
                    continue
                problems += _show(_section(name, served), served, abilities)
    finally:
        records.close()
    return 1 if problems else 0


def _section(name: str, served: ProviderSettings) -> str:
    """Name the section of the settings that says what a model can do."""
    return f"providers.{name}" + (f'.models."{served.model}"' if served.model in served.models else "")


def _show(section: str, provider: ProviderSettings, abilities: list[ModelAbility]) -> int:
    """Print what an endpoint can do; count what its settings promise and it cannot."""
    console, can = views.console(), {ability.name for ability in abilities if ability.can}
    for ability in abilities:
        console.print(views.label("", f"{ability.name:<17} {_description(ability)}", _STYLES[ability.can]))
    if {ability.name: ability.can for ability in abilities}["answers"] is False:
        return 1
    open_ = {ability.name for ability in abilities if ability.can is None}
    thought = max(ability.thought for ability in abilities)
    if thought:
        console.print(views.label("", f"{'thinks':<17} up to {thought:,} tokens before a reply"))
    can |= open_.intersection(provider.capabilities)  # nothing is known against them
    console.print(views.label("", f"{'plans come by':<17} {plans_by(can)}"))
    able = [ability for ability in ABILITIES if ability in can]
    others = [other for other in provider.capabilities if other not in ABILITIES]
    others += ["reasoning"] if thought and "reasoning" not in others else []
    if {*able, *others} != set(provider.capabilities):
        written = ", ".join(f'"{ability}"' for ability in (*able, *others))
        console.print(views.label("", f"set it: [{section}] capabilities = [{written}]", "bold"))
    return sum(ability in ABILITIES and ability not in can for ability in provider.capabilities)


def _description(ability: ModelAbility) -> str:
    """Say what was found of an ability, and what it took."""
    took = f" ({ability.seconds:g} s)" if ability.seconds else ""
    if ability.thought:
        took = f" ({ability.seconds:g} s, {ability.thought:,} tokens of thought)"
    if ability.can:
        return f"yes{took}"
    if ability.can is None:
        return f"not known: {ability.why}{took}"
    instead = f" → {INSTEAD[ability.name]}" if ability.name in INSTEAD else ""
    return f"no: {ability.why}{instead}"


def plans_by(can: set[str]) -> str:
    """Name the way in which a model with these abilities answers with one object."""
    ways = {"json_schema": "JSON schema", "function_calling": "a tool call", "json_mode": "JSON mode"}
    return next((way for need, way in ways.items() if need in can), "words, read and repaired")
