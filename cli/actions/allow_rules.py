"""The always-allow rules on the command line: give them with an approval, list them, take them back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.views import rendering as views
from planwright.domain.errors import SetupError
from planwright.records.consent.allow_rules import AllowRule, AllowRules
from planwright.records.consent.approval_scope import TOOL_WORDS, ArgumentRule
from planwright.records.consent.tool_answers import TOOL, ToolAnswer, ToolAnswers


def approval_scope_of(
    scope: str | None, where: list[str], tools: Sequence[str] = (), *, unseen: bool = False
) -> dict[str, object]:
    """Phrase what an approval is to hold for. Raises SetupError for what is no ARG=GLOB or NAME=MAY."""
    if scope is None and where:
        raise SetupError("--where says what is remembered", "add --remember run, session or always")
    globs = {name: {"glob": glob} for name, glob in _pairs(where, "ARG=GLOB", "--where to='*@example.com'")}
    may = dict(_pairs(tools, "NAME=MAY", "--tool get_weather=reads"))
    holds: dict[str, object] = {
        **({"scope": scope, "args": globs} if scope else {}),
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
    folder = load_trusted(workspace).store_folder
    rules, tools = AllowRules(folder), ToolAnswers(folder)
    entries: list[AllowRule | ToolAnswer] = [*rules.read(), *tools.read()]
    if as_json:
        print(json.dumps([entry.model_dump(mode="json", exclude_unset=True) for entry in entries], indent=2))
        return 0
    screen = views.console()
    if not entries:
        screen.print("No call is always allowed. Give a rule with: planwright approve GATE --remember always")
        return 0
    for entry in entries:
        screen.print(views.label("allowed" if isinstance(entry, AllowRule) else "tool", _text(entry)))
        by = f"{entry.id}, given by {entry.given_by} on {entry.given_at[:10]}"
        screen.print(views.label("", f"{by}; take it back: planwright rules revoke {entry.id}", "dim"))
    for path in (rules.path, tools.path):
        if path.exists():
            screen.print(views.label("file", str(path), "dim"))
    return 0


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
    args = ", ".join(f"{name} {_argument(form)}" for name, form in rule.args.items()) or "no arguments"
    where = {"run": f"in run {rule.run_id}", "session": f"on thread {rule.thread_id}"}
    return f"{args}; risk up to {rule.max_risk}; {where.get(rule.scope, 'always')}"


def _argument(form: ArgumentRule) -> str:
    if form.any:
        return "any"
    return (
        f"like {form.glob}" if form.glob is not None else f"= {json.dumps(form.equals, ensure_ascii=False)}"
    )
