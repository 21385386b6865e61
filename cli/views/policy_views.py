"""Look at the policy of a workspace: its rules, and what they answer to one call."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from pydantic import JsonValue, ValidationError
from rich.table import Table
from rich.text import Text

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability, check_arguments, error_summary
from planwright.capabilities.mcp.servers import Servers, start_servers
from planwright.capabilities.policy.check import check_policy, reached, unreachable
from planwright.capabilities.policy.consent import judge
from planwright.capabilities.policy.decide import explain_ruling
from planwright.capabilities.policy.file import DEFAULT, FILE_NAME, Policy, Rule, load_policy
from planwright.capabilities.policy.rulings import Explanation
from planwright.capabilities.registry import Registry, load_registry
from planwright.checkpoints.records import open_records
from planwright.cli.commands.option_groups import CallOptions
from planwright.cli.views import rendering as views
from planwright.cli.views.mcp_views import say_absent
from planwright.domain.errors import SetupError
from planwright.domain.references import has_reference
from planwright.domain.risk import Risk
from planwright.presentation.rows import JsonObject
from planwright.security.jail import Jail
from planwright.settings.profile import find_agent
from planwright.settings.settings import Settings, load

EXAMPLE = """for instance --args '{"path": "a.md"}'"""
VERDICT_TEXT = {
    "yes": "matches",
    "no": "is not about it",
    "unknown": "not known yet",
    "error": "cannot be evaluated",
}


def show_policy(workspace: Path, as_json: bool) -> int:
    """List the rules of a workspace. Raises SetupError, with file and line, for a policy that is none."""
    policy, registry = open_policy(load(workspace))
    useless = unreachable(policy, registry)
    rows = [described(rule, registry, useless.get(rule.where, "")) for rule in policy.rules]
    if as_json:
        print(json.dumps({"file": str(policy.path), "version": policy.hash, "rules": rows}, indent=2))
        return 0
    screen = views.console()
    columns = ("rule", "decide", "about", "when", "reaches", "note")
    screen.print(_table(columns, [[str(row[name]) for name in columns] for row in rows]))
    which = f"no {FILE_NAME}: the default policy is in force" if policy.path == DEFAULT else str(policy.path)
    screen.print(views.label("policy", which))
    screen.print(views.label("version", policy.hash))
    screen.print(views.label("order", "every deny first, then the first that matches, then the last one"))
    return 0


def explain_call(name: str, call: CallOptions, workspace: Path, as_json: bool) -> int:
    """Say what the policy answers to one call, why, and whether a person is asked."""
    settings = load(workspace)
    policy, registry = open_policy(settings)
    capability = registry.require(name)
    find_agent(settings, call.agent)
    args = None if call.args is None else _arguments(call.args)
    records = open_records(settings.store_folder, url=settings.store_url)
    delegated = records.delegations
    world = CallContext(
        settings, Jail(settings.workspace), records.memories, policy=policy, delegations=delegated
    )
    context = world.on_behalf_of(call.tenant, call.agent, tainted=call.tainted)
    explanation = explain_ruling(capability, args, context, references=True)
    flaw = "" if args is None else _flaw(capability, args)
    person = consent(capability, args, context, settings.approval.of_tool)
    if as_json:
        more = {"capability": name, "arguments": flaw or "ok", "consent": person}
        print(json.dumps({**explanation_json(explanation, policy), **more}, indent=2))
        return 0
    screen = views.console()
    looks = [
        (match.rule.where, match.rule.decide, match.note or VERDICT_TEXT[match.verdict])
        for match in explanation.matches
    ]
    screen.print(_table(("rule", "decide", "this call"), looks))
    floor = explanation.floor
    mode = f"{capability.mode} alone says {floor.answer}" + (f": {floor.reason}" if floor.reason else "")
    screen.print(views.label("mode", mode))
    if flaw:
        screen.print(views.label("arguments", f"the call would be refused: {flaw}", "red"))
    if explanation.ruling.quorum > 1:
        screen.print(views.label("quorum", f"{explanation.ruling.quorum} different people"))
    if explanation.ruling.approvers:
        screen.print(views.label("approvers", ", ".join(explanation.ruling.approvers)))
    screen.print(views.label("decision", f"{explanation.ruling.answer}: {explanation.ruling.why}", "bold"))
    screen.print(views.label("consent", person))
    return 0


def consent(
    capability: Capability, args: dict[str, JsonValue] | None, context: CallContext, ask_from: Risk
) -> str:
    """Say whether a call that the policy does not deny asks a person, and why."""
    filled = {**capability.defaults, **(args or {})}
    judged = judge(capability.narrowed(filled, context), filled, context, ask_from, references=True)
    if judged.denied:
        return "nobody is asked: the call is not made"
    own = ", at a gate of its own" if judged.own_gate else ""
    return f"a person is asked{own}: {judged.reason}" if judged.asks else "nobody is asked"


def open_policy(settings: Settings) -> tuple[Policy, Registry]:
    """Load the policy and check it against the capabilities there are. Raises SetupError."""
    with closing(start_servers(settings)) as servers:
        say_absent(servers)
        return policy_beside(servers, settings)


def policy_beside(servers: Servers, settings: Settings) -> tuple[Policy, Registry]:
    """Load the policy and check it against the capabilities there are beside servers. Raises SetupError."""
    modules = settings.capabilities
    registry = load_registry(
        settings.workspace, modules.modules, modules.prohibit, servers.capabilities, servers.absent
    )
    policy = load_policy(settings.workspace)
    check_policy(policy, registry)
    return policy, registry


def described(rule: Rule, registry: Registry, note: str) -> JsonObject:
    """Put one rule into words; `reaches` counts the capabilities it is about."""
    selectors = rule.match.model_dump(mode="json", exclude_none=True)
    words = "; ".join(f"{name} {', '.join(values)}" for name, values in selectors.items())
    return {
        "rule": rule.where,
        "decide": rule.decide,
        "about": words or "everything",
        "when": rule.condition.source if rule.condition else "",
        "reason": rule.reason,
        "approvers": list(rule.approvers),
        "quorum": rule.quorum,
        "reaches": len(reached(rule, registry)),
        "note": note and f"never decides: {note}",
    }


def explanation_json(explanation: Explanation, policy: Policy) -> JsonObject:
    """Spell an explanation as JSON."""
    looked = [
        {"rule": match.rule.where, "decide": match.rule.decide, "verdict": match.verdict, "note": match.note}
        for match in explanation.matches
    ]
    ruling, floor = explanation.ruling, explanation.floor
    return {
        "answer": ruling.answer,
        "reason": ruling.reason,
        "rule": ruling.rule,
        "approvers": list(ruling.approvers),
        "quorum": ruling.quorum,
        "mode": {"answer": floor.answer, "reason": floor.reason},
        "looked": looked,
        "version": policy.hash,
    }


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(views.one_line(cell)) for cell in row))  # brackets are no markup here
    return table


def _arguments(text: str) -> dict[str, JsonValue]:
    try:
        arguments = json.loads(text)
    except ValueError as error:
        raise SetupError(f"--args is no JSON: {error}", EXAMPLE) from error
    if not isinstance(arguments, dict):
        raise SetupError("--args is no JSON object", EXAMPLE)
    return arguments


def _flaw(capability: Capability, arguments: dict[str, JsonValue]) -> str:
    """Say what is wrong with arguments, as far as they are known."""
    try:
        check_arguments(capability, arguments)
    except ValidationError as error:
        return "" if has_reference(arguments) else error_summary(error)
    return ""
