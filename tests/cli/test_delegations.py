"""Delegations from the command line: issued, listed, taken back, refused."""

from __future__ import annotations

import pytest

from tests.cli.desk import Desk

MODULE = '''
from planwright.capabilities.declaration import capability

@capability("pay.refund", mode="delegated", effect="idempotent")
def refund(order: str) -> str:
    """Pay an order back."""
    return order

@capability("pay.wipe", mode="destructive", effect="idempotent")
def wipe(order: str) -> str:
    """Wipe an order."""
    return order
'''


@pytest.fixture
def pay(desk: Desk) -> Desk:
    """A workspace with a delegated and a destructive capability."""
    (desk.folder / "pay.py").write_text(MODULE, "utf-8")
    desk.settings('[capabilities]\nmodules = ["pay"]\n')
    return desk


def test_a_delegation_is_issued_listed_and_taken_back(pay: Desk) -> None:
    issued = pay.run("delegations", "issue", "pay.*", "--hours", "2", "-r", "invoices")
    assert issued.code == 0
    assert "pay.refund, risk up to High" in issued.stdout
    assert "pay.wipe" not in issued.stdout
    (one,) = pay.run("delegations", "ls", "--json").json
    assert (one["capabilities"], one["max_risk"], one["reason"]) == (["pay.*"], "High", "invoices")
    assert one["issued_by"]
    assert one["issued_by"] in pay.run("delegations", "ls").stdout
    explained = pay.run("policy", "explain", "pay.refund").stdout
    assert "nobody is asked" in " ".join(explained.split())
    assert "asks again" in pay.run("delegations", "revoke", one["id"]).stdout
    assert "a person is asked" in " ".join(pay.run("policy", "explain", "pay.refund").stdout.split())


@pytest.mark.parametrize("name", ["pay.wipe", "agent.delegate", "files.*", "nothing"])
def test_what_no_delegation_can_cover_is_refused(pay: Desk, name: str) -> None:
    refused = pay.run("delegations", "issue", name)
    assert refused.code == 2
    assert f"{name} covers no capability of mode delegated" in refused.stderr
