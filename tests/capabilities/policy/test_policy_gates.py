"""Gates of a policy are read once, refused with file and line, and part of its version."""

from __future__ import annotations

from pathlib import Path

import pytest

from planwright.capabilities.policy.file import read_policy
from planwright.domain.errors import SetupError

LAST = '\n[[rule]]\ndecide = "ask"\n'
PATH = Path("policy.toml")


def test_a_gate_says_who_how_many_and_how_long() -> None:
    text = '[gates.finance]\napprovers = "kim"\nexpires_s = 60\nreason = "money"\n[gates.legal]\nquorum = 2\n'
    policy = read_policy(text + LAST, PATH)
    assert (policy.gates["finance"].approvers, policy.gates["finance"].expires_s) == (("kim",), 60)
    assert (policy.gates["legal"].approvers, policy.gates["legal"].quorum) == ((), 2)


def test_gates_are_part_of_the_version_and_a_policy_without_them_keeps_its_own() -> None:
    plain = read_policy(LAST, PATH)
    assert plain.hash == read_policy("[gates]\n" + LAST, PATH).hash
    one, other = (read_policy(f'[gates.a]\napprovers = ["{who}"]{LAST}', PATH) for who in ("kim", "sam"))
    assert len({plain.hash, one.hash, other.hash}) == 3


@pytest.mark.parametrize(
    ("gates", "says"),
    [
        ('[gates.a]\naprovers = ["kim"]', r"policy\.toml:1: a gate has no `aprovers`"),
        ("[gates.a]\nquorum = 0", r"policy\.toml:1: `quorum`"),
        ("[gates.a]\nexpires_s = -1", r"policy\.toml:1: `expires_s`"),
        ("[gates.a]\nexpires_s = 1e12", r"policy\.toml:1: `expires_s`"),
        (
            '[gates.b]\n[gates.a]\napprovers = ["kim"]\nquorum = 2',
            r":2: 2 have to approve, and 1 may",
        ),
        ('[gates.a]\napprovers = [""]', r"policy\.toml:1: `approvers`"),
        ("gates = 1", "`gates` is no table"),
        (f"[gates.{'x' * 65}]", "1 to 64 characters"),
    ],
)
def test_a_gate_that_cannot_be_followed_is_refused(gates: str, says: str) -> None:
    with pytest.raises(SetupError, match=says):
        read_policy(f"{gates}\n{LAST}", PATH)
