"""The default policy: a pure function from a call to allow, ask or deny (SPEC 4.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from pydantic import JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.capability import Capability
from planwright.graph.errors import CapabilityRejected
from planwright.graph.references import has_reference

Answer = Literal["allow", "ask", "deny"]

VERSION = "default-1"


@dataclass(frozen=True)
class Ruling:
    """What the policy answers, and why."""

    answer: Answer
    reason: str


def decide(capability: Capability, args: Mapping[str, JsonValue], context: CallContext) -> Ruling:
    """Rule on one call.

    `read_only` and `local_write` are allowed; `network` is allowed to listed hosts; everything
    else needs a person.
    """
    if capability.mode in ("read_only", "local_write"):
        return Ruling("allow", f"{capability.mode} is allowed")
    if capability.mode == "network":
        return _network(capability, args, context)
    undeclared = "" if capability.declared else " (it declares no mode)"
    return Ruling("ask", f"{capability.mode} always needs a person{undeclared}")


def listed(host: str, allow: Sequence[str]) -> bool:
    """Say whether `host:port` is on the egress list, with or without its port."""
    return host in allow or host.rpartition(":")[0] in allow


def host_of(url: str) -> str:
    """Read `host:port` from a URL, with the scheme's default port."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise CapabilityRejected(f"{url!r} is no URL: {error}", "mend it in planwright.toml") from error
    return f"{parts.hostname}:{port}"


def _network(capability: Capability, args: Mapping[str, JsonValue], context: CallContext) -> Ruling:
    hosts = capability.reaches(args, context)
    if hosts is None or (has_reference(dict(args)) and not capability.preflight):
        return Ruling("ask", "the host it reaches is not known beforehand")
    unlisted = [host for host in hosts if not listed(host, context.settings.egress.allow)]
    if unlisted:
        return Ruling("ask", f"{', '.join(unlisted)} is not in egress.allow")
    return Ruling("allow", f"{', '.join(hosts)} is in egress.allow")
