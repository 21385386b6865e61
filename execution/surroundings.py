"""What the models of a run are told of the world it works in: read once, so that it stays as it was told."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping
from datetime import datetime
from pathlib import Path

from pydantic import JsonValue

from planwright.capabilities.builtin.databases import schemas
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.registry import Registry
from planwright.state.invocation import Invocation

SurroundingsReader = Callable[[Invocation], Awaitable[Mapping[str, JsonValue]]]
"""Tells of the world that the run of an invocation works in."""
SQL = "sql.query"
THERE, EMPTY = "there", "empty"
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def surroundings_reader(registry: Registry, call_context: CallContext) -> SurroundingsReader:
    """Tell of a workspace, to each run what it may use of it."""

    async def read(invocation: Invocation) -> Mapping[str, JsonValue]:
        if not invocation.surroundings:
            call = call_context.on_behalf_of(invocation.context.tenant, invocation.profile.agent)
            allowed = registry.within(invocation.profile)
            invocation.surroundings = await asyncio.to_thread(surroundings, allowed, call)
        return invocation.surroundings

    return read


async def table_names(
    names: Container[str], invocation: Invocation, call_context: CallContext, *, anew: bool = False
) -> Mapping[str, object]:
    """List the tables of the user's databases for a model that is offered some tools; none it cannot query.

    They are read once for an invocation, or `anew` for a plan, which may be made after one that made tables.
    """
    if SQL not in names:
        return {}
    if invocation.databases is None or anew:
        invocation.databases = await asyncio.to_thread(schemas, call_context)
    return invocation.databases


async def has_foreign_text(
    tools: Iterable[Capability], names: Container[str], invocation: Invocation, call_context: CallContext
) -> bool:
    """Say whether a model is told what others wrote before it calls anything.

    That is what a server says of its tools, which who trusts it does not read for traps, and the names of
    tables and their columns.
    """
    return any(tool.server for tool in tools) or bool(await table_names(names, invocation, call_context))


def surroundings(allowed: Container[str], call: CallContext) -> dict[str, JsonValue]:
    """Tell of today and of the workspace, as far as a run that may use the `allowed` capabilities needs it.

    What changes by the minute is left out, so that a provider can go on from a prompt it knows.
    """
    settings, now = call.settings, call.now().astimezone()
    facts: dict[str, JsonValue] = {
        "today": now.date().isoformat(),
        "weekday": _WEEKDAYS[now.weekday()],
        "time_zone": _zone(now),
        "workspace": settings.workspace.resolve().name,
    }
    if settings.mail.sender:
        facts["user"] = settings.mail.sender
    elif call.tenant != "default":
        facts["user"] = call.tenant
    facts["sources"] = dict(_sources(allowed, call))
    return facts


def _zone(now: datetime) -> str:
    offset = now.strftime("%z")
    return f"{now.tzname()} (UTC{offset[:3]}:{offset[3:5]})"


def _sources(allowed: Container[str], call: CallContext) -> Mapping[str, JsonValue]:
    """Say of each source of data that may be used whether it is there, and whether it holds anything."""
    settings, sources = call.settings, call.settings.sources
    root = settings.workspace
    states: dict[str, JsonValue] = {}
    if "mail.search" in allowed:
        states["mail"] = _mail(root / sources.mail)
    if "mail.send" in allowed and not settings.mail.host:
        states["mail.send"] = "not set up: there is no mail server"
    if "calendar.list" in allowed:
        states["calendar"] = _filled(root / sources.calendar)
    if "tickets.list" in allowed:
        states["tickets"] = THERE if (root / sources.tickets).exists() else EMPTY
    if "files.list" in allowed:
        states["files"] = _filled(root)
    if "channel.post" in allowed:
        states["channels"] = [*settings.channels] or "not set up: there is none"
    return states


def _mail(place: Path) -> str:
    """Look into a maildir, or a folder or file of messages."""
    if place.is_file():
        return THERE
    filled = any(_filled(place / folder) == THERE for folder in ("cur", "new"))
    return THERE if filled else _filled(place) if not (place / "cur").is_dir() else EMPTY


def _filled(place: Path) -> str:
    """Say whether something that is not hidden lies in a folder."""
    if place.is_file():
        return THERE
    try:
        with os.scandir(place) as entries:
            return THERE if any(not entry.name.startswith(".") for entry in entries) else EMPTY
    except OSError:
        return "not there"
