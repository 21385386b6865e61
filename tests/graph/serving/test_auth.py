"""Which right an action of LangGraph's server takes."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.graph.serving.auth import caller_in, in_store, rights_for
from planwright.security.credentials import Caller

ANSWER, UPDATE = {"resume": {"type": "approve"}}, {"goto": "__end__"}


@pytest.mark.parametrize(
    ("action", "sent", "rights"),
    [
        ("read", {}, ()),
        ("search", {}, ()),
        ("create_run", {"kwargs": {"input": {"messages": []}}}, ("request",)),
        ("create_run", {"kwargs": {"input": {}, "command": ANSWER}}, ("approve",)),
        ("create_run", {"kwargs": {"command": ANSWER}}, ("approve",)),
        ("create_run", {"kwargs": {"input": None, "command": {"resume": False}}}, ("approve",)),
        ("create_run", {"kwargs": {"command": UPDATE}}, ("request", "operate")),
        ("create_run", {"kwargs": {"input": None, "command": None}}, ("request", "operate")),
        ("create_run", {}, ("request", "operate")),
        ("create", {}, ("request", "approve", "operate")),
        ("update", {}, ("request", "operate")),
        ("delete", {}, ("request", "operate")),
        ("put", {}, ("request", "operate")),
    ],
)
def test_an_action_takes_a_right(action: str, sent: dict[str, Any], rights: tuple[str, ...]) -> None:
    assert rights_for(action, sent) == rights


def test_a_tenant_with_a_dot_has_a_label_of_its_own_in_the_store() -> None:
    labels = {tenant: in_store(tenant, ["notes"])[0] for tenant in ("a.b", "a%2Eb", "ab", "a")}
    assert len(set(labels.values())) == len(labels)
    assert not any("." in label for label in labels.values())
    assert in_store("a.b", in_store("a.b", ["notes"])) == in_store("a.b", ["notes"]) == ("a%2Eb", "notes")
    assert in_store("a", None) == ("a",)


def test_who_asks_comes_with_tenant_and_rights() -> None:
    user = {"identity": "kim", "tenant": "acme", "rights": ["audit"]}
    caller = caller_in({"langgraph_auth_user": user})
    assert caller == Caller("kim", "acme", frozenset(("audit",)))
    assert not caller.may("request", "approve", "operate")
    assert caller_in({}) is None
