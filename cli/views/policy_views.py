"""Look at the policy of a workspace: its rules, and what they answer to one call."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from pydantic import JsonValue
from rich.console import Console
from rich.table import Table
from rich.text import Text

from planwright.capabilities.contract import Capability
from planwright.capabilities.policy.check import check_policy
from planwright.capabilities.policy.explain import (
    CallRuling,
    RuleRow,
    call_ruling,
    rule_rows,
    ruling_context,
)
from planwright.capabilities.policy.file import DEFAULT, FILE_NAME, Policy, load_policy
from planwright.capabilities.policy.rulings import Explanation
from planwright.capabilities.registry import Registry, load_registry
from planwright.capabilities.tools.tool_servers import ToolServers, tool_servers
from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.commands.option_groups import CallOptions
from planwright.cli.views import rendering as views
from planwright.domain.errors import SetupError
from planwright.presentation.rows import JsonObject
from planwright.records.records import open_records
from planwright.settings.profile import find_agent
from planwright.settings.settings import Settings

NO_WORDS = "it depends on what the user has written, and here that is nothing: say it with --request"
EXAMPLE = """for instance --args '{"path": "a.md"}'"""


def show_policy(workspace: Path, as_json: bool) -> int:
    """List the rules of a workspace. Raises SetupError, with file and line, for a policy that is none."""
    policy, registry = open_policy(load_trusted(workspace))
    rows = [_described(row) for row in rule_rows(policy, registry)]
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
    settings = load_trusted(workspace)
    policy, registry = open_policy(settings)
    capability = registry.require(name)
    find_agent(settings, call.agent)
    args = None if call.args is None else _arguments(call.args)
    records = open_records(settings.store_folder, url=settings.store_url)
    world = ruling_context(settings, records, policy)
    context = world.on_behalf_of(call.tenant, call.agent, call.request, tainted=call.tainted)
    ruling = call_ruling(capability, args, context, settings.approval)
    if as_json:
        more = {"capability": name, "arguments": ruling.flaw or "ok", "consent": ruling.consent}
        more |= {"decision": ruling.answer}
        print(json.dumps({**_explained(ruling.explanation, policy), **more}, indent=2))
        return 0
    screen = views.console()
    _print(screen, capability, ruling)
    if not call.request and (call.tainted or _asks_for_words(ruling.explanation)):
        screen.print(views.label("words", NO_WORDS, "yellow"))
    return 0


def _asks_for_words(explanation: Explanation) -> bool:
    """Say whether a rule that was looked at goes by what the user has written."""
    conditions = (match.rule.condition for match in explanation.matches)
    return any(condition is not None and "from_user" in condition.source for condition in conditions)


def _print(screen: Console, capability: Capability, call: CallRuling) -> None:
    ruling, floor = call.explanation.ruling, call.explanation.floor
    screen.print(_table(("rule", "decide", "this call"), call.looks))
    mode = f"{capability.mode} alone says {floor.answer}" + (f": {floor.reason}" if floor.reason else "")
    screen.print(views.label("mode", mode))
    if call.flaw:
        screen.print(views.label("arguments", f"the call would be refused: {call.flaw}", "red"))
    if ruling.quorum > 1:
        screen.print(views.label("quorum", f"{ruling.quorum} different people"))
    if ruling.approvers:
        screen.print(views.label("approvers", ", ".join(ruling.approvers)))
    if ruling.exclude_requester:
        screen.print(views.label("not by", "who asked"))
    if call.answer == ruling.answer:
        screen.print(views.label("decision", f"{ruling.answer}: {ruling.why}", "bold"))
    else:
        screen.print(views.label("rules", f"{ruling.answer}: {ruling.why}"))
        screen.print(views.label("decision", call.answer, "bold"))
    screen.print(views.label("consent", call.consent))


def open_policy(settings: Settings) -> tuple[Policy, Registry]:
    """Load the policy and check it against the capabilities there are. Raises SetupError."""
    with closing(tool_servers(settings).start_servers(settings)) as servers:
        views.print_absent(servers.problems)
        return policy_beside(servers, settings)


def policy_beside(servers: ToolServers, settings: Settings) -> tuple[Policy, Registry]:
    """Load the policy and check it against the capabilities there are beside servers. Raises SetupError."""
    modules = settings.capabilities
    registry = load_registry(
        settings.workspace, modules.modules, modules.prohibit, servers.capabilities, servers.absent
    )
    policy = load_policy(settings.workspace)
    check_policy(policy, registry)
    return policy, registry


def _described(row: RuleRow) -> JsonObject:
    return {
        "rule": row.where,
        "decide": row.decide,
        "about": row.selectors,
        "when": row.condition,
        "reason": row.reason,
        "approvers": list(row.approvers),
        "quorum": row.quorum,
        "exclude_requester": row.exclude_requester,
        "reaches": row.reaches,
        "note": row.note and f"never decides: {row.note}",
    }


def _explained(explanation: Explanation, policy: Policy) -> JsonObject:
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
        "exclude_requester": ruling.exclude_requester,
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
