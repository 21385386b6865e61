"""The always-allow rules on the command line: give them with an approval, list them, take them back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.views import rendering as views
from planwright.domain.errors import SetupError
from planwright.records.consent.allow_rules import AllowRule, AllowRules
from planwright.records.consent.approval_scope import TOOL_WORDS, rule_of, rule_words
from planwright.records.consent.tool_answers import TOOL, ToolAnswer, ToolAnswers
from planwright.records.records import open_records
from planwright.security.redaction.known_secrets import redactor_of
from planwright.settings.settings import Settings


def approval_scope_of(
    scope: str | None,
    where: Sequence[str],
    tools: Sequence[str] = (),
    *,
    unseen: bool = False,
    when: str = "",
    most: int | None = None,
) -> dict[str, object]:
    """Phrase what an approval is to hold for. Raises SetupError for what is no ARG=PATTERN or NAME=MAY."""
    if scope is None and (where or when or most):
        cause = "--where, --when and --most say what is remembered"
        raise SetupError(cause, "add --remember run, session or always")
    args = {name: rule_of(text) for name, text in _pairs(where, "ARG=PATTERN", "--where path=notes/")}
    limits: dict[str, object] = {"when": when} if when else {}
    limits |= {"most": most} if most is not None else {}
    may = dict(_pairs(tools, "NAME=MAY", "--tool get_weather=reads"))
    holds: dict[str, object] = {
        **({"scope": scope, "args": args, **limits} if scope else {}),
        **({"tools": may} if may else {}),
    }
    holds |= {"unseen": True} if unseen else {}
    return {"remember": holds} if holds else {}


def _pairs(texts: Sequence[str], form: str, example: str) -> Iterator[tuple[str, str]]:
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise SetupError(f"`{text}` is not {form}", f"for instance {example}")
        yield name, value


def show_rules(workspace: Path, as_json: bool) -> int:
    """List the rules of a workspace, and what people have said that tools may do."""
    settings = load_trusted(workspace)
    rules, tools = AllowRules(settings.store_folder), ToolAnswers(settings.store_folder)
    entries: list[AllowRule | ToolAnswer] = [*rules.read(), *tools.read()]
    uses = _uses(settings, entries) if entries else {}
    if as_json:
        rows = (
            {**entry.model_dump(mode="json", exclude_unset=True), **_used(entry, uses)} for entry in entries
        )
        print(json.dumps([*rows], indent=2))
        return 0
    screen = views.console()
    if not entries:
        screen.print("No call is always allowed. Give a rule with: planwright approve GATE --remember always")
        return 0
    for entry in entries:
        screen.print(views.label("allowed" if isinstance(entry, AllowRule) else "tool", _text(entry)))
        by = f"{entry.id}, given by {entry.given_by} on {entry.given_at[:10]}"
        if used := _used(entry, uses):
            by += f", used for {used['calls']} call{'s' * (used['calls'] != 1)}"
        screen.print(views.label("", f"{by}; take it back: planwright rules revoke {entry.id}", "dim"))
    for path in (rules.path, tools.path):
        if path.exists():
            screen.print(views.label("file", str(path), "dim"))
    return 0


def _uses(settings: Settings, entries: Sequence[AllowRule | ToolAnswer]) -> dict[str, int]:
    """Count how many calls each rule has allowed."""
    records = open_records(settings.store_folder, redactor=redactor_of(settings), url=settings.store_url)
    try:
        return asyncio.run(records.rule_uses.counts([entry.id for entry in entries]))
    finally:
        records.close()


def _used(entry: AllowRule | ToolAnswer, uses: Mapping[str, int]) -> dict[str, int]:
    return {"calls": uses.get(entry.id, 0)} if isinstance(entry, AllowRule) else {}


def revoke(id_: str, workspace: Path) -> int:
    """Take a rule, or what was said of a tool, out of its file."""
    folder = load_trusted(workspace).store_folder
    taken = (ToolAnswers if id_.startswith(TOOL) else AllowRules)(folder).revoke(id_)
    print(f"{taken.capability} asks again ({_text(taken)})")
    return 0


def _text(entry: AllowRule | ToolAnswer) -> str:
    words = rule_text(entry) if isinstance(entry, AllowRule) else TOOL_WORDS[entry.may]
    return f"{entry.capability}: {words}"


def rule_text(rule: AllowRule) -> str:
    """Put a rule on one line."""
    args = ", ".join(f"{name} {rule_words(form)}" for name, form in rule.args.items()) or "no arguments"
    where = {"run": f"in run {rule.run_id}", "session": f"on thread {rule.thread_id}"}
    when = f"; when {rule.when}" if rule.when else ""
    most = f"; {rule.most} calls at most" if rule.most is not None else ""
    return f"{args}{when}{most}; risk up to {rule.max_risk}; {where.get(rule.scope, 'always')}"
