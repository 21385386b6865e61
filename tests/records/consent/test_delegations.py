"""Delegations as they are kept: issued by a person, bounded, listed, revoked, and read strictly."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from planwright.domain.errors import SetupError
from planwright.domain.risk import Risk
from planwright.records.consent.delegations import Delegation, Delegations, Period, Reach

NOW = datetime(2031, 5, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=2)


def issued(folder: Path, *names: str, max_risk: Risk = "High") -> Delegation:
    return Delegations(folder).issue(
        Reach(names or ("pay.*",)), max_risk, "ada@desk", Period(NOW, LATER), reason="invoices"
    )


@pytest.mark.parametrize(
    ("name", "risk", "tenant", "hours", "covered"),
    [
        ("pay.refund", "High", "default", 1, True),
        ("pay.refund", "None", "default", 0, True),
        ("pay.refund", "Critical", "default", 1, False),
        ("payments.refund", "High", "default", 1, False),
        ("Pay.refund", "High", "default", 1, True),
        ("pay.refund", "High", "acme", 1, False),
        ("pay.refund", "High", "default", 2, False),
        ("pay.refund", "High", "default", -1, False),
    ],
)
def test_a_delegation_covers_what_it_names_up_to_its_risk_for_its_tenant_until_it_expires(
    tmp_path: Path, name: str, risk: Risk, tenant: str, hours: int, covered: bool
) -> None:
    one = issued(tmp_path)
    at = NOW + timedelta(hours=hours)
    assert (Delegations(tmp_path).covering(name, risk, tenant, at) == one) is covered


def test_a_delegation_says_who_answers_for_it(tmp_path: Path) -> None:
    one = issued(tmp_path)
    assert one.label == f"delegated by ada@desk until 2031-05-01 14:00 UTC ({one.id})"
    assert (tmp_path / "delegations.jsonl").stat().st_mode & 0o077 == 0


def test_one_that_is_revoked_covers_nothing_and_the_others_stay(tmp_path: Path) -> None:
    first, second = issued(tmp_path), issued(tmp_path, "fax.send")
    assert Delegations(tmp_path).revoke(first.id) == first
    assert Delegations(tmp_path).read() == [second]
    assert Delegations(tmp_path).covering("pay.refund", "High", "default", NOW) is None
    with pytest.raises(SetupError, match="there is no delegation"):
        Delegations(tmp_path).revoke(first.id)


@pytest.mark.parametrize("line", ["nonsense", '{"id": "dlg_1"}', '{"capabilities": ["*"], "forever": true}'])
def test_a_line_that_is_none_delegates_nothing(tmp_path: Path, line: str) -> None:
    issued(tmp_path)
    with (tmp_path / "delegations.jsonl").open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    assert Delegations(tmp_path).covering("pay.refund", "High", "default", NOW) is None
    with pytest.raises(SetupError, match="line 2 is no delegation"):
        issued(tmp_path)


def test_times_without_a_zone_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="timezone"):
        Delegations(tmp_path).issue(Reach(["pay.*"]), "High", "ada", Period(NOW.replace(tzinfo=None), LATER))


@pytest.mark.parametrize(("code", "covered"), [("1" * 16, True), ("2" * 16, False), ("", False)])
def test_a_capability_that_changed_since_is_not_covered(tmp_path: Path, code: str, covered: bool) -> None:
    reach = Reach(["pay.*"], {"pay.refund": "1" * 16})
    one = Delegations(tmp_path).issue(reach, "High", "ada", Period(NOW, LATER))
    assert (Delegations(tmp_path).covering("pay.refund", "High", "default", NOW, code) == one) is covered


def test_a_capability_that_was_not_there_then_is_not_covered(tmp_path: Path) -> None:
    reach = Reach(("pay.*",), {"pay.refund": "a1"})
    one = Delegations(tmp_path).issue(reach, "High", "ada@desk", Period(NOW, LATER))
    assert Delegations(tmp_path).covering("pay.refund", "High", "default", NOW, "a1") == one
    assert Delegations(tmp_path).covering("pay.out", "High", "default", NOW, "b2") is None
