"""Tickets: of one start, good once; and a host that only who has the token of the start can name."""

from __future__ import annotations

import re

import pytest

from planwright.security.tickets import SignInTickets, make_ticket, own_host

TOKEN, OTHER = "s" * 43, "t" * 43


def test_a_ticket_is_good_once_and_for_its_start_alone() -> None:
    tickets, ticket = SignInTickets(TOKEN), make_ticket(TOKEN)
    assert [tickets.look(ticket), tickets.look(ticket)] == ["good", "good"]
    assert [tickets.use(ticket), tickets.use(ticket), tickets.look(ticket)] == ["good", "used", "used"]
    assert tickets.use(make_ticket(TOKEN)) == "good"
    assert SignInTickets(OTHER).use(make_ticket(TOKEN)) == "unknown"


@pytest.mark.parametrize("change", [str.upper, lambda t: t[1:], lambda t: t + "0", lambda t: f"x{t}"])
def test_a_ticket_that_was_changed_is_none(change: object) -> None:
    assert callable(change)
    assert SignInTickets(TOKEN).use(change(make_ticket(TOKEN))) == "unknown"


@pytest.mark.parametrize("ticket", ["", ".", "a", "a.b", "\ud800", "é.é", TOKEN, f"x.{TOKEN}"])
def test_what_is_no_ticket_is_unknown(ticket: str) -> None:
    assert SignInTickets(TOKEN).use(ticket) == "unknown"


def test_a_host_is_of_a_start_and_tells_nothing_of_its_token() -> None:
    host = own_host(TOKEN)
    assert host == own_host(TOKEN) != own_host(OTHER)
    assert re.fullmatch(r"planwright-[0-9a-f]{32}\.localhost", host)
    assert TOKEN not in host + make_ticket(TOKEN)
