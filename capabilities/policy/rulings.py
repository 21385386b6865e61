"""What the policy answers to one call, and what it looked at on the way."""

from __future__ import annotations

from dataclasses import dataclass

from planwright.capabilities.policy.condition import ConditionResult
from planwright.capabilities.policy.file import PolicyAnswer, Rule

NOBODY: tuple[tuple[str, ...], int, bool] = ((), 1, False)
"""What a ruling that names no people says of them."""
STRICTNESS: tuple[PolicyAnswer, ...] = ("allow", "ask", "deny")


@dataclass(frozen=True)
class Ruling:
    """What the policy answers, and why."""

    answer: PolicyAnswer
    """What the policy answers."""
    reason: str
    """Why, in words."""
    rule: str = ""
    """Where the rule stands, as `policy.toml:12`; "" when the mode decided."""
    approvers: tuple[str, ...] = ()
    """Who may approve; empty for anybody."""
    quorum: int = 1
    """How many different people have to approve."""
    exclude_requester: bool = False
    """Whether who asked may not approve."""
    undecided: bool = False
    """Whether it asks only because an argument is not known yet."""
    named: bool = False
    """Whether a rule allows the capability by its very name, not by a pattern, a mode or a risk."""
    delegated: bool = False
    """Whether a person has delegated such calls, and nothing else stands against this one."""

    @property
    def people(self) -> tuple[tuple[str, ...], int, bool]:
        """Who may approve, how many have to, and whether who asked may not."""
        return (self.approvers, self.quorum, self.exclude_requester)

    @property
    def needs_names(self) -> bool:
        """Whether it matters who approves: several people have to, or others than who asked."""
        return self.quorum > 1 or self.exclude_requester

    @property
    def why(self) -> str:
        """The reason, with the rule it comes from."""
        return self.reason if self.rule in self.reason else f"{self.reason} ({self.rule})"


@dataclass(frozen=True)
class RuleMatch:
    """One rule that was looked at, and whether it matched; `note` says why where that is not plain."""

    rule: Rule
    """The rule that was looked at."""
    verdict: ConditionResult
    """Whether it matched: `yes`, `no`, `unknown` (an argument is not known yet) or `error`."""
    note: str = ""
    """Why, where that is not plain; else ""."""


@dataclass(frozen=True)
class Explanation:
    """A ruling, the rules that were looked at on the way, and what the mode alone would have answered."""

    ruling: Ruling
    """What the policy answers in the end."""
    matches: tuple[RuleMatch, ...]
    """The rules that were looked at on the way, in order."""
    floor: Ruling
    """What the mode alone would have answered."""


def stricter(ruled: Ruling, floor: Ruling) -> Ruling:
    """Take the stricter of what the rules and the mode say; both reasons where they agree."""
    answer = max(ruled.answer, floor.answer, key=STRICTNESS.index)
    speakers = [ruling for ruling in (ruled, floor) if ruling.answer == answer]
    reason = "; ".join(dict.fromkeys(ruling.reason for ruling in speakers if ruling.reason))
    return Ruling(
        answer,
        reason or f"{ruled.rule} says {answer}",
        ruled.rule if ruled in speakers else "",
        *(ruled.people if ruled in speakers else NOBODY),
        ruled.undecided and floor.answer == "allow",
        ruled.named and answer == "allow",
        floor.delegated and answer == "allow",
    )
