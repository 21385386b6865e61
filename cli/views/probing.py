"""`planwright doctor --probe`: what each endpoint can do, and what is used in place of the rest."""

from __future__ import annotations

import asyncio
from pathlib import Path

from planwright.checkpoints.records import open_records
from planwright.cli.views import records as views
from planwright.domain.clock import utc_now
from planwright.domain.errors import PlanwrightError
from planwright.models.providers.probe import ABILITIES, Ability, Probe
from planwright.settings.providers import Provider
from planwright.settings.settings import Settings, load

INSTEAD = {
    "function_calling": "tools are called in words",
    "streaming": "answers come whole",
}


def probe(workspace: Path) -> int:
    """Try out every provider; say what to set where its settings promise what it cannot do."""
    settings = load(workspace)
    if not settings.providers:
        views.console().print(views.label("probe", "no provider is configured: the embedded planner serves"))
        return 0
    return asyncio.run(_all(settings))


async def _all(settings: Settings) -> int:
    problems, records = 0, open_records(settings.store_folder)
    try:
        for name, provider in settings.providers.items():
            for served in provider.served:
                views.console().print(views.label("probe", f"{name}: {served.model}", "bold"))
                try:
                    found = [one async for one in Probe(name, served, records.budgets, utc_now).abilities()]
                except PlanwrightError as error:
                    views.console().print(views.label("", f"!!   {error}", "red"))
                    problems += 1
                    continue
                problems += _show(_section(name, served), served, found)
    finally:
        records.close()
    return 1 if problems else 0


def _section(name: str, served: Provider) -> str:
    """Name the section of the settings that says what a model can do."""
    return f"providers.{name}" + (f'.models."{served.model}"' if served.model in served.models else "")


def _show(section: str, provider: Provider, found: list[Ability]) -> int:
    """Print what an endpoint can do; count what its settings promise and it cannot."""
    console, can = views.console(), {one.name for one in found if one.can}
    for one in found:
        instead = f" → {INSTEAD[one.name]}" if not one.can and one.name in INSTEAD else ""
        said = "yes" if one.can else f"no: {one.why}{instead}"
        console.print(views.label("", f"{one.name:<17} {said}", "green" if one.can else "yellow"))
    if "answers" not in can:
        return 1
    console.print(views.label("", f"{'plans come by':<17} {plans_by(can)}"))
    able = [ability for ability in ABILITIES if ability in can]
    kept = [other for other in provider.capabilities if other not in ABILITIES]
    if set(able) != {ability for ability in provider.capabilities if ability in ABILITIES}:
        written = ", ".join(f'"{ability}"' for ability in (*able, *kept))
        console.print(views.label("", f"set it: [{section}] capabilities = [{written}]", "bold"))
    return sum(ability in ABILITIES and ability not in can for ability in provider.capabilities)


def plans_by(can: set[str]) -> str:
    """Name the way in which a model with these abilities answers with one object."""
    ways = {"json_schema": "JSON schema", "function_calling": "a tool call", "json_mode": "JSON mode"}
    return next((way for need, way in ways.items() if need in can), "words, read and repaired")
