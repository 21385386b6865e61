"""Who asks: a token names a person and a tenant. What a client says of itself counts for nothing."""

from __future__ import annotations

import hashlib
import hmac
import os
import pwd
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from planwright.domain.errors import SetupError
from planwright.security.tickets import SignInTickets, own_host
from planwright.settings.server import EVERY_RIGHT, Right
from planwright.settings.settings import Settings, from_environment

SHORTEST_TOKEN = 24
_NEW_TOKEN = 'python -c "import secrets; print(secrets.token_urlsafe(32))"'


@dataclass(frozen=True)
class Caller:
    """The person behind a request, and whose ledger, budgets, memory and threads they work with."""

    person: str
    """Who sends the request, as decisions are signed."""
    tenant: str = "default"
    """Whose ledger, budgets, memory and threads the request works with."""
    rights: frozenset[Right] = EVERY_RIGHT
    """What they may do."""

    def may(self, *rights: Right) -> bool:
        """Say whether they have one of these rights; anybody who is known may what asks for none."""
        return not rights or not self.rights.isdisjoint(rights)


class Credentials:
    """The tokens that open the server, by their SHA-256."""

    def __init__(self, start_token: str | None, callers: Mapping[str, Caller]) -> None:
        self._start = _digest(start_token) if start_token else None
        self._callers = dict(callers)
        self.tickets = SignInTickets(start_token) if start_token else None
        self.own_host = own_host(start_token) if start_token else ""

    def callers(self) -> Iterable[Caller]:
        """List whom the tokens of the settings name."""
        return self._callers.values()

    def caller(self, token: str, *, loopback: bool) -> Caller | None:
        """Find whose token this is; the token of the start counts over the loopback interface only."""
        digest = _digest(token)
        known = [caller for held, caller in self._callers.items() if hmac.compare_digest(held, digest)]
        if known:
            return known[0]
        if loopback and self._start and hmac.compare_digest(self._start, digest):
            return Caller(login_name())
        return None


def read_credentials(settings: Settings, start_token: str | None) -> Credentials:
    """Read `[server.tokens]`, beside the token of this start, if there is one.

    Raises SetupError for a token that is missing, short or there twice.
    """
    callers: dict[str, Caller] = {}
    for name, token in settings.server.tokens.items():
        digest = token.sha256 or _digest(_token(name, token.token_env))
        if digest in callers:
            raise SetupError(f"[server.tokens.{name}] is the token of another name, too", _make_one())
        callers[digest] = Caller(token.person or name, token.tenant, token.rights)
    return Credentials(start_token, callers)


def login_name() -> str:
    """Name the person at this machine, as the system knows them."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"


def _token(name: str, variable: str) -> str:
    token = from_environment(variable)
    if len(token) < SHORTEST_TOKEN:
        problem = f"shorter than {SHORTEST_TOKEN} characters" if token else "not set"
        raise SetupError(f"[server.tokens.{name}]: {variable} is {problem}", _make_one())
    return token


def _make_one() -> str:
    return f"make a token of its own: {_NEW_TOKEN}"


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
