"""Read a URL once and strictly, and say whether what it names may be reached at all."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address

import httpx

from planwright.domain.errors import CapabilityForbidden, CapabilityRejected
from planwright.security.egress.addresses import Address, block_of, read_table
from planwright.security.egress.ports import REFUSED_PORTS
from planwright.settings.egress import HOST_NAME, EgressSettings, HostPort, ends_in_number

LONGEST = 8192
LOCAL_NAMES = tuple(row["name"] for row in read_table("local_names.csv"))
_FORM = re.compile(r"https?://(?P<authority>[^/?#]*)", re.IGNORECASE)
_OTHER_DOTS = frozenset("。．｡․")  # IDNA takes the first three for dots, NFKC the fourth


@dataclass(frozen=True)
class Target:
    """Where a request goes: the host as DNS, TLS and the Host header have it, and the port."""

    scheme: str
    """`http` or `https`."""
    host: str
    """Host name as DNS and TLS have it, or an address."""
    port: int
    """Port of the host."""
    address: Address | None = None
    """The host as an address; None where it is a name."""

    @property
    def place(self) -> str:
        """Spell host and port as `egress.allow` has them."""
        return HostPort(self.host, self.port).text

    @property
    def origin(self) -> tuple[str, str, int]:
        """What has to be the same for a credential to be sent again (RFC 6454)."""
        return (self.scheme, self.host, self.port)


def read_url(text: str) -> httpx.URL:
    """Read an absolute URL. Raises CapabilityRejected for what is no http(s) URL.

    Raises CapabilityForbidden where two readers might disagree about the host: user names,
    escapes, backslashes, letters that only look like dots or digits.
    """
    if len(text) > LONGEST:
        raise CapabilityRejected(f"the URL is longer than {LONGEST} characters", "shorten it")
    if "\\" in text or any(unicodedata.category(char)[0] in "CZ" for char in text):
        raise CapabilityForbidden(f"the URL {text[:200]!r} holds a backslash, a space or a control character")
    form = _FORM.match(text)
    if form is None:
        raise CapabilityRejected(f"{text[:200]!r} is no http:// or https:// URL", "write it in full")
    authority = form["authority"]
    if "@" in authority:
        raise CapabilityForbidden("the URL holds a user name or password", "leave it out")
    plain = unicodedata.normalize("NFKC", authority) == authority and not _OTHER_DOTS & set(authority)
    if "%" in authority or not plain:
        raise CapabilityForbidden(f"the host of {text[:200]!r} is spelled in disguise", "write it plainly")
    try:
        return httpx.URL(text)
    except httpx.InvalidURL as error:
        if ends_in_number(authority.partition(":")[0]):
            raise _in_disguise(authority) from error
        raise CapabilityRejected(f"{text[:200]!r} is no URL: {error}", "mend it") from error


def target_of(url: httpx.URL) -> Target:
    """Read host and port of a URL. Raises as `read_url`; an address has to be in its one usual form."""
    if url.scheme not in ("http", "https"):
        raise CapabilityRejected(f"{url.scheme!r} is neither http nor https", "write the URL in full")
    if url.userinfo:
        raise CapabilityForbidden("the URL holds a user name or password", "leave it out")
    host = url.raw_host.decode("ascii")
    port = url.port if url.port is not None else (443 if url.scheme == "https" else 80)
    if not host or not 0 <= port <= 65535:
        raise CapabilityRejected(f"{str(url)[:200]!r} names no host and port", "write the URL in full")
    try:
        if ":" in host:
            six = IPv6Address(host)
            if six.scope_id is not None:
                raise CapabilityForbidden(f"{host} is an address of this machine's own links")
            return Target(url.scheme, str(six), port, six)
        if ends_in_number(host):
            return Target(url.scheme, host, port, IPv4Address(host))
    except AddressValueError as error:
        raise _in_disguise(host) from error
    if not HOST_NAME.fullmatch(host):
        raise CapabilityForbidden(
            f"{host!r} is no host name", "write it as DNS has it, without a dot at the end"
        )
    return Target(url.scheme, host, port)


def check_target(target: Target, egress: EgressSettings) -> None:
    """Refuse what could never be reached: local names and addresses that are not listed, some ports.

    Raises CapabilityForbidden. What a name resolves to is checked when it is connected to.
    """
    if target.port in REFUSED_PORTS and not egress.names(target.host, target.port):
        raise CapabilityForbidden(
            f"port {target.port} is not for HTTP", f"list it if it is: {_listing(target.place)}"
        )
    if egress.allows(target.host, target.port):
        return
    if target.address is not None:
        check_address(target.place, target.address, allowed=False)
    elif is_local(target.host):
        raise CapabilityForbidden(
            f"{target.host} is a name of this machine or of a private network", _advice(target.place)
        )


def check_address(place: str, address: Address, *, allowed: bool) -> None:
    """Refuse an address that a place leads to: all but global unicast and, for what is listed, local ones.

    Raises CapabilityForbidden.
    """
    block = block_of(address)
    if block.reach == "global" or (allowed and block.reach == "local"):
        return
    cause = f"{place} leads to {address}, which is not public: {block.purpose} ({block.source})"
    raise CapabilityForbidden(cause, "" if allowed else _advice(place))


def _in_disguise(host: str) -> CapabilityForbidden:
    return CapabilityForbidden(f"{host} is an address in disguise", "write it as four decimal numbers")


def is_local(host: str) -> bool:
    """Say whether a name has no dot, or lies in a domain that is never public."""
    return "." not in host or any(f".{host}".endswith(f".{name}") for name in LOCAL_NAMES)


def _advice(place: str) -> str:
    return f"a local service has to be listed: {_listing(place)}"


def _listing(place: str) -> str:
    return f'[egress] allow = ["{place}"]'
