"""The always-allow rules on the command line: give them with an approval, list them, take them back."""

from __future__ import annotations

import json
from pathlib import Path

from planwright.checkpoints.consent.allow_rules import AllowRule, AllowRules
from planwright.checkpoints.consent.approval_scope import ArgumentRule
from planwright.cli.views import rendering as views
from planwright.domain.errors import SetupError
from planwright.settings.settings import load


def approval_scope_of(scope: str | None, where: list[str]) -> dict[str, object]:
    """Phrase what an approval is to hold for. Raises SetupError for a `--where` that is no ARG=GLOB."""
    if scope is None:
        if where:
            raise SetupError("--where says what is remembered", "add --remember run, session or always")
        return {}
    globs = {}
    for pair in where:
        name, equals, glob = pair.partition("=")
        if not (name and equals):
            raise SetupError(f"`{pair}` is not ARG=GLOB", "for instance --where to='*@example.com'")
        globs[name] = {"glob": glob}
    return {"remember": {"scope": scope, "args": globs}}


def show_rules(workspace: Path, as_json: bool) -> int:
    """List the rules of a workspace."""
    rules = AllowRules(load(workspace).store_folder)
    entries = rules.read()
    if as_json:
        print(json.dumps([rule.model_dump(mode="json", exclude_unset=True) for rule in entries], indent=2))
        return 0
    screen = views.console()
    if not entries:
        screen.print("No call is always allowed. Give a rule with: planwright approve GATE --remember always")
        return 0
    for rule in entries:
        screen.print(views.label("allowed", f"{rule.capability}: {rule_text(rule)}"))
        by = f"{rule.id}, given by {rule.given_by} on {rule.given_at[:10]}"
        screen.print(views.label("", f"{by}; take it back: planwright rules revoke {rule.id}", "dim"))
    screen.print(views.label("file", str(rules.path), "dim"))
    return 0


def revoke(id_: str, workspace: Path) -> int:
    """Take a rule out of the file."""
    rule = AllowRules(load(workspace).store_folder).revoke(id_)
    print(f"{rule.capability} asks again ({rule_text(rule)})")
    return 0


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
