"""Tickets: a link of this start that signs in once, and the host that the page has for itself.

Both are made of the token of the start, so that the command that prints a link and the process that serves
the page agree on them without a word. A token opens as often as it is sent; what stands in a link is read by
others: in a list of processes, a history, a picture of a screen.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Literal

NAME_LETTERS = 32

TicketState = Literal["good", "used", "unknown"]
"""How a ticket stands; `unknown` for one that no link of this start has."""


def own_host(token: str) -> str:
    """Name the host of the page on this machine, which nobody can guess.

    Browsers look names below `localhost` up nowhere (RFC 6761, 6.3), and send a cookie of one name to no
    other. To every port of that name they do send it (RFC 6265, 8.5): so it is a secret, like the cookie.
    """
    return f"planwright-{_mac(token, 'host')[:NAME_LETTERS]}.localhost"


def make_ticket(token: str) -> str:
    """Make a ticket of a start; it is good once, until that start ends."""
    name = secrets.token_urlsafe(16)
    return f"{name}.{_mac(token, f'ticket {name}')}"


class SignInTickets:
    """The tickets of a start, and which of them were used."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._used: set[str] = set()

    def look(self, ticket: str) -> TicketState:
        """Say how a ticket stands, and leave it as it is."""
        name, _, mac = ticket.rpartition(".")
        expected = _mac(self._token, f"ticket {name}")
        if not hmac.compare_digest(expected.encode(), mac.encode("utf-8", "surrogatepass")):
            return "unknown"
        return "used" if name in self._used else "good"

    def use(self, ticket: str) -> TicketState:
        """Use a ticket up, and say how it stood."""
        state = self.look(ticket)
        if state == "good":
            self._used.add(ticket.rpartition(".")[0])
        return state


def _mac(token: str, purpose: str) -> str:
    text = purpose.encode("utf-8", "surrogatepass")
    return hmac.new(token.encode("utf-8", "surrogatepass"), text, hashlib.sha256).hexdigest()
