"""`policy.toml`: ordered rules, read once and refused at start with file and line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from planwright.capabilities.expression import LONGEST
from planwright.capabilities.policy.condition import Condition, compile_condition
from planwright.capabilities.policy.decisions import DecisionSpec, read_decisions
from planwright.capabilities.policy.gates import NamedGate, Text, as_tuple, read_gates, too_few
from planwright.domain.errors import SetupError
from planwright.domain.hashing import problem_of, sha256
from planwright.domain.risk import Mode, Risk
from planwright.presentation.nearest import nearest
from planwright.settings.profile import stands_for

FILE_NAME = "policy.toml"
DEFAULT = Path(__file__).with_name("default_policy.toml")
SEMANTICS = "1"  # part of the hash: what the same rules mean

PolicyAnswer = Literal["allow", "ask", "deny"]
EXAMPLE = (
    'write CEL, such as args.amount > 100 && host == "api.example.com",'
    " over args, capability, mode, risk, host and tainted"
)
_HEADER = re.compile(r"\s*\[\[\s*rule\s*\]\]")
_KEY = re.compile(r"\s*(?:\[\s*rule\s*\.\s*)?(?:match\s*\.\s*)?(\w+)\s*[=\].]")


Globs = Annotated[tuple[Text, ...] | None, BeforeValidator(as_tuple), Field(min_length=1)]
Modes = Annotated[tuple[Mode, ...] | None, BeforeValidator(as_tuple), Field(min_length=1)]
Risks = Annotated[tuple[Risk, ...] | None, BeforeValidator(as_tuple), Field(min_length=1)]


class Match(BaseModel):
    """Which calls a rule is about, by the declaration of the capability; left out, all of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    capability: Globs = None
    """Names or globs of capabilities; None for all."""
    mode: Modes = None
    """Modes of capabilities; None for all."""
    risk: Risks = None
    """Risks of calls; None for all."""
    tenant: Globs = None
    """Names or globs of tenants; None for all."""

    def declared(self, name: str, mode: Mode, risk: Risk | None) -> bool:
        """Say whether a capability is one of those the rule is about; `risk` None where it may be any."""
        return (
            _names(name, self.capability)
            and (self.mode is None or mode in self.mode)
            and (self.risk is None or risk is None or risk in self.risk)
        )

    def of_tenant(self, tenant: str) -> bool:
        """Say whether the rule is about this tenant."""
        return _fits(tenant, self.tenant)

    @property
    def everything(self) -> bool:
        """Whether there is no call that the rule is not about."""
        any_name = all(globs is None or "*" in globs for globs in (self.capability, self.tenant))
        return any_name and self.mode is None and self.risk is None


def _names(capability: str, globs: tuple[str, ...] | None) -> bool:
    return globs is None or any(stands_for(glob, capability) for glob in globs)


def _fits(name: str, globs: tuple[str, ...] | None) -> bool:
    return globs is None or any(fnmatchcase(name, glob) for glob in globs)


class _Entry(BaseModel):
    """One `[[rule]]` as it is written."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    match: Match = Match()
    """Which calls the rule is about."""
    when: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST)] | None = None
    """Expression that has to hold; None where nothing more has to."""
    decide: PolicyAnswer
    """What the rule answers."""
    reason: str = ""
    """Why, for people; "" for nothing."""
    approvers: Annotated[tuple[Text, ...], BeforeValidator(as_tuple)] = ()
    """Who may approve; empty for anybody."""
    quorum: int = Field(1, ge=1)
    """How many different people have to approve."""
    exclude_requester: bool = False
    """Whether who asked may not approve."""


@dataclass(frozen=True)
class Rule:
    """One rule, and where it stands, as `policy.toml:12`."""

    where: str
    """Where the rule stands, as `policy.toml:12`."""
    match: Match
    """Which calls it is about."""
    condition: Condition | None
    """What has to hold for the arguments; None where nothing more has to."""
    decide: PolicyAnswer
    """What it answers."""
    reason: str
    """Why, for people; "" for nothing."""
    approvers: tuple[str, ...]
    """Who may approve; empty for anybody."""
    quorum: int
    """How many different people have to approve."""
    exclude_requester: bool
    """Whether who asked may not approve."""
    hash: str
    """Hash of what it says, wherever it stands."""

    @property
    def catch_all(self) -> bool:
        """Whether the rule decides whatever reaches it."""
        return self.match.everything and self.condition is None


@dataclass(frozen=True)
class Policy:
    """Ordered rules, the last of them a catch-all; the hash covers what they say, not how it is laid out."""

    path: Path
    """File that the rules stand in."""
    rules: tuple[Rule, ...]
    """The rules in order: every deny comes first, then the first that matches; the last one matches all."""
    hash: str
    """Hash of what the rules say, however they are laid out."""
    gates: Mapping[str, NamedGate] = field(default_factory=dict)
    """The gates that plans can name."""
    decisions: Mapping[str, DecisionSpec] = field(default_factory=dict)
    """The decision catalog, by id; empty where there is none."""

    @cached_property
    def denies(self) -> tuple[Rule, ...]:
        """The rules that are looked at first. The last one is not: it decides where no other does."""
        return tuple(rule for rule in self.rules[:-1] if rule.decide == "deny")

    @cached_property
    def others(self) -> tuple[Rule, ...]:
        """The rules of which the first that matches decides."""
        return tuple(rule for rule in self.rules[:-1] if rule.decide != "deny")

    def undecided(self, capability: str, decided: Collection[str]) -> str:
        """Name a decision that has to come before a call and has not been taken; "" where there is none."""
        covering = (id_ for id_, spec in self.decisions.items() if spec.covering(capability))
        return next((id_ for id_ in covering if id_ not in decided), "")

    @property
    def last(self) -> Rule:
        """The catch-all."""
        return self.rules[-1]


def load_policy(workspace: Path) -> Policy:
    """Read the policy of a workspace, the default one where it has none, and its decision catalog.

    Raises SetupError. The hash covers the catalog, too: a changed decision is asked for anew.
    """
    path = workspace / FILE_NAME
    try:
        policy = read_policy(path.read_text("utf-8"), path) if path.exists() else default_policy()
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{path} cannot be read as text: {error}", "save it as UTF-8") from error
    decisions = read_decisions(workspace, policy.gates)
    if not decisions:
        return policy
    catalog = {id_: spec.model_dump(mode="json") for id_, spec in decisions.items()}
    return replace(policy, decisions=decisions, hash=sha256([policy.hash, catalog]))


@cache
def default_policy() -> Policy:
    """Read the policy that is shipped; it needs no CEL."""
    return read_policy(DEFAULT.read_text(encoding="utf-8"), DEFAULT)


def read_policy(text: str, path: Path) -> Policy:
    """Read the rules of a file. Raises SetupError with file and line for any that cannot be followed."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        where = f"{path}:{line[1]}" if line else str(path)
        raise SetupError(f"{where}: that is no TOML: {error}", "mend that line") from error
    except RecursionError as error:
        raise SetupError(f"{path} is nested too deeply", "write each rule as [[rule]]") from error
    tables, gates = content.pop("rule", []), read_gates(content.pop("gates", {}), text, path)
    if content or not isinstance(tables, list):
        raise SetupError(
            f"{path}: a policy holds [[rule]] and [gates.…], not `{next(iter(content), '[rule]')}`",
            "begin each rule with a line [[rule]]",
        )
    places = list(_places(text)) if tables else []
    exact = len(places) == len(tables)
    entries, rules = [], []
    for number, table in enumerate(tables):
        lines = places[number] if exact else {}
        entries.append(_entry(table, path, lines))
        rules.append(_rule(entries[-1], path, lines, number))
    if not rules or not rules[-1].catch_all:
        at = f"{path.parent / rules[-1].where}" if rules else f"{path}:1"
        open_end = "the last rule is no catch-all (one without `match` and `when`): some calls have no answer"
        step = 'end the file with two lines: [[rule]], and decide = "ask"; then: planwright policy check'
        raise SetupError(f"{at}: {open_end}", step)
    canonical = [_format(entry) for entry in entries]
    named = {name: gate.model_dump(mode="json", exclude_defaults=True) for name, gate in gates.items()}
    return Policy(path, tuple(rules), sha256([SEMANTICS, canonical, *([named] if named else [])]), gates)


def _entry(table: object, path: Path, lines: dict[str, int]) -> _Entry:
    try:
        entry = _Entry.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        loc = [str(part) for part in first["loc"] if isinstance(part, str)] or ["rule"]
        at = _at(path, lines, loc[-1], loc[0])
        if first["type"] == "extra_forbidden":
            known = Match.model_fields if len(loc) > 1 else _Entry.model_fields
            near = nearest(loc[-1], known, least=50)
            hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known)}"
            raise SetupError(f"{at}: a rule has no `{'.'.join(loc)}`", hint) from error
        raise SetupError(f"{at}: `{'.'.join(loc)}`: {problem_of(first)}", "mend that rule") from error
    if (entry.approvers or entry.quorum > 1 or entry.exclude_requester) and entry.decide != "ask":
        at = _at(path, lines, "approvers", "quorum", "exclude_requester")
        raise SetupError(f"{at}: nobody is asked where a rule says {entry.decide}", 'use decide = "ask"')
    if flaw := too_few(entry.approvers, entry.quorum):
        raise SetupError(f"{_at(path, lines, 'quorum')}: {flaw}", "name more approvers, or ask fewer")
    return entry


def _rule(entry: _Entry, path: Path, lines: dict[str, int], number: int) -> Rule:
    line = lines.get("rule")
    try:
        condition = compile_condition(entry.when) if entry.when is not None else None
    except ValueError as error:
        where = _at(path, lines, "when")
        raise SetupError(f"{where}: `when`: {error}", EXAMPLE) from error
    return Rule(
        where=f"{path.name}:{line}" if line else f"{path.name} rule {number + 1}",
        match=entry.match,
        condition=condition,
        decide=entry.decide,
        reason=entry.reason.strip(),
        approvers=entry.approvers,
        quorum=entry.quorum,
        exclude_requester=entry.exclude_requester,
        hash=sha256(_format(entry)),
    )


def _format(entry: _Entry) -> dict[str, object]:
    """Spell what a rule says."""
    return entry.model_dump(mode="json", exclude_defaults=True)


def _at(path: Path, lines: dict[str, int], *keys: str) -> str:
    line = next((lines[key] for key in (*keys, "rule") if key in lines), None)
    return f"{path}:{line}" if line else str(path)


def _places(text: str) -> Iterator[dict[str, int]]:
    """Find the lines of every `[[rule]]`: of its header, as `rule`, and of its keys."""
    lines: dict[str, int] = {}
    inside_string = False
    for number, row in enumerate(text.splitlines(), 1):
        if not inside_string:
            if _HEADER.match(row):
                if lines:
                    yield lines
                lines = {"rule": number}
            elif lines and (key := _KEY.match(row)):
                lines.setdefault(key[1], number)
        if (row.count('"""') + row.count("'''")) % 2:
            inside_string = not inside_string
    if lines:
        yield lines
