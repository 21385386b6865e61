"""Where calls may go on the network, and how much may come back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from planwright.language.first_person import folded

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
HOST_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")
_ENTRY = re.compile(r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<host>[^\[\]:]+))(?::(?P<port>[0-9]{1,5}))?")


class HostPort(NamedTuple):
    """A host, and one of its ports or (None) any."""

    host: str
    """Host name or address, without port."""
    port: int | None
    """Port on that host; None for any."""

    @property
    def text(self) -> str:
        """Spell it as an entry of the list."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"


def read_host_port(text: str) -> HostPort | None:
    """Read `host`, `host:port`, an address or `[address]:port`; None for anything else.

    Names are ASCII, as DNS has them; addresses come out in their one canonical form.
    """
    low = folded(text)
    if low.count(":") > 1 and not low.startswith("["):
        low = f"[{low}]"
    match = _ENTRY.fullmatch(low)
    if match is None:
        return None
    port = int(match["port"]) if match["port"] else None
    host = _canonical(match["six"] or match["host"], six=match["six"] is not None)
    return HostPort(host, port) if host and (port is None or port < 65536) else None


def ends_in_number(host: str) -> bool:
    """Say whether a resolver may take a name for an IPv4 address (WHATWG URL §3.5, `inet_aton`)."""
    return re.fullmatch(r"[0-9]+|0x[0-9a-f]*", host.rstrip(".").rpartition(".")[2]) is not None


def _canonical(host: str, *, six: bool) -> str | None:
    if not six and not ends_in_number(host):
        return host if HOST_NAME.fullmatch(host) else None
    try:
        address = ip_address(host)
    except ValueError:
        return None
    return str(address) if (address.version == 6) is six else None


def on_list(host: str, port: int | None, entries: Iterable[str]) -> bool:
    """Say whether a place is on a list, by an entry with its port or by one for all ports."""
    places = (read_host_port(entry) for entry in entries)
    return any(entry is not None and entry.host == host and entry.port in (None, port) for entry in places)


def _checked(entry: str) -> str:
    if read_host_port(entry) is None:
        raise ValueError(f"{entry!r} is neither a host nor host:port; there are no patterns and no paths")
    return entry


Entry = Annotated[str, AfterValidator(_checked)]
TEXTS = ("text/*", "application/json", "application/*+json", "application/xml", "application/*+xml")
MORE_TEXTS = ("application/x-ndjson", "application/yaml", "application/javascript")


class EgressSettings(BaseModel):
    """Hosts that network capabilities may reach, as `host` or `host:port`, and what they may bring back.

    Only a host in `allow` may be on this machine or in a private network. One in `idempotent` does
    not do twice what it is sent twice under one Idempotency-Key.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    allow: tuple[Entry, ...] = ()
    """Hosts that may be reached though they are not public, as `host` or `host:port`."""
    idempotent: tuple[Entry, ...] = ()
    """Hosts that do not do twice what they are sent twice under one Idempotency-Key."""
    timeout_s: float = Field(30, gt=0)
    """Seconds that one request may take, redirects included."""
    max_bytes: int = Field(1_000_000, ge=1)
    """Bytes of a reply that are read; one that is longer is left out."""
    content_types: tuple[str, ...] = (*TEXTS, *MORE_TEXTS)
    """Media types whose text is kept of a reply."""

    def allows(self, host: str, port: int) -> bool:
        """Say whether a place is listed."""
        return on_list(host, port, self.allow)

    def names(self, host: str, port: int) -> bool:
        """Say whether a place is listed with this very port."""
        return any(read_host_port(entry) == (host, port) for entry in self.allow)

    def honours_keys(self, host: str, port: int) -> bool:
        """Say whether a place is known to honour an Idempotency-Key."""
        return on_list(host, port, self.idempotent)
