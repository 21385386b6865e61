"""Always-allow rules: calls a person approved once for good, in a file made to be read and cut.

`allow.jsonl` holds one rule a line. A line that cannot be read opens no gate: nothing fails open.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import ConfigDict, JsonValue

from planwright.domain.errors import SetupError
from planwright.domain.risk import Risk, at_least
from planwright.records.consent.approval_scope import (
    ApprovalScope,
    ArgumentRule,
    ScopeDuration,
    ToolMay,
    free_in,
)
from planwright.records.consent.gate import Gate, digest_on
from planwright.records.consent.line_file import FileLine, LineFile

FILE_NAME = "allow.jsonl"


class AllowRule(FileLine):
    """One rule; `run_id` and `thread_id` are where it was given, and bind the scopes run and session.

    It holds for the capability as it was then, and for a chain of exactly that definition.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    """Name of the rule, as commands take it."""
    capability: str
    """Name of the capability that the rule allows."""
    args: dict[str, ArgumentRule]
    """What each argument may be, by name."""
    max_risk: Risk
    """Gravest risk of a call that it allows."""
    scope: ScopeDuration
    """How long it holds: for the run, the thread, or always."""
    tenant: str
    """Whose calls it allows."""
    run_id: str
    """Id of the run in which it was given; it binds a rule of scope run."""
    thread_id: str
    """Id of the thread in which it was given; it binds a rule of scope session."""
    given_by: str
    """Who gave it."""
    given_at: str
    """When it was given, in ISO 8601."""
    definition: str = ""
    """Hash of the chain that it allows, 64 hex digits; "" for what is no chain."""
    code: str = ""
    """Digest of the capability that it allows; "" allows nothing."""
    when: str = ""
    """What has to hold of the arguments, in CEL; "" for no condition."""
    most: int | None = None
    """How many calls it allows, of which the store keeps count; None for any number."""

    def covers(self, gate: Gate, card: Mapping[str, JsonValue]) -> bool:
        """Say whether a call that a gate shows is one that this rule allows. Never a destructive one."""
        args, risk = card.get("args"), card.get("risk")
        where = {"run": gate.run_id == self.run_id, "session": gate.thread_id == self.thread_id}
        return (
            gate.may_be_remembered
            and gate.tenant == self.tenant
            and where.get(self.scope, True)
            and card.get("capability") == self.capability
            and card.get("definition", "") == self.definition
            and self.code != ""
            and digest_on(card) == self.code
            and isinstance(args, Mapping)
            and args.keys() == self.args.keys()
            and all(rule.fits(args[name]) for name, rule in self.args.items())
            and (risk == self.max_risk or not at_least(risk, self.max_risk))  # type: ignore[arg-type]
        )


class AllowRules:
    """The rules of one workspace."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._file = LineFile(
            self.path, AllowRule, noun="rule", unreadable="every call asks", listing="planwright rules ls"
        )

    def read(self) -> list[AllowRule]:
        """Read all rules. Raises SetupError, naming the line, for one that is none."""
        return self._file.read()

    def covering(self, gate: Gate, call: Mapping[str, JsonValue]) -> list[AllowRule]:
        """List the rules that allow a call which a gate shows, conditions aside.

        There is none for what an earlier run has done, and while the file cannot be read.
        """
        if call.get("done_before"):
            return []
        try:
            return [rule for rule in self.read() if rule.covers(gate, call)]
        except SetupError:
            return []

    def remember(self, gate: Gate) -> None:
        """Write down the rules that were given with the answer to a gate, one a call, once."""
        if rules := rules_of(gate):
            self._file.append(rules)

    def revoke(self, id_: str) -> AllowRule:
        """Take a rule out of the file. Raises SetupError when there is none of that name."""
        return self._file.remove(id_)


def rules_of(gate: Gate) -> list[AllowRule]:
    """Make the rules that a person gave with an approval, one for each call that it shows.

    They hold for these arguments, or for what the answer says they may be; for the rest of a run or of its
    conversation they are as wide as the card shows. A tool that asks once a run is allowed for the rest of
    it by each approval.
    """
    if gate.status != "approved" or gate.channel == "rule":
        return []
    remembered = gate.remembered
    tools = remembered.tools if remembered else {}
    rules = []
    for number, call in enumerate(gate.calls):
        wide = remembered and remembered.scope and gate.may_be_remembered
        scope = remembered if wide else _once_a_run(call, tools)
        if scope is not None:
            rules.append(_rule(gate, call, scope, number))
    return rules


def _once_a_run(call: Mapping[str, JsonValue], tools: Mapping[str, ToolMay]) -> ApprovalScope | None:
    """Let the tool of a call go on for the rest of its run, with any arguments, where it asks once a run."""
    args, may = call.get("args"), tools.get(str(call.get("capability")))
    if not isinstance(args, Mapping) or not (call.get("asks_once") or may == "asks_once"):
        return None
    return ApprovalScope(scope="run", args=dict.fromkeys(args, ArgumentRule(any=True)))


def _rule(gate: Gate, call: Mapping[str, JsonValue], scope: ApprovalScope, number: int) -> AllowRule:
    args = call.get("args")
    if not isinstance(args, Mapping):
        raise TypeError(f"the card of gate {gate.gate_id} shows a call without arguments")
    exact = {name: ArgumentRule(equals=value) for name, value in args.items()}
    free = free_in(call) if scope.scope != "always" and not scope.args else ()
    suffix = f"_{number}" if number else ""
    return AllowRule.model_validate(
        {
            "id": f"allow_{gate.gate_id.removeprefix('gate_')}{suffix}",
            "capability": call["capability"],
            "args": {**exact, **dict.fromkeys(free, ArgumentRule(any=True)), **scope.args},
            "max_risk": call["risk"],
            "scope": scope.scope,
            "tenant": gate.tenant,
            "run_id": gate.run_id,
            "thread_id": gate.thread_id,
            "given_by": gate.decided_by or "",
            "given_at": gate.decided_at.isoformat() if gate.decided_at else "",
            "code": digest_on(call),
            **scope.model_dump(include={"when", "most"}, exclude_defaults=True),
            **({"definition": call["definition"]} if "definition" in call else {}),
        }
    )
