"""Edit a plan by hand: in $EDITOR, from a file or from stdin."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import click

from planwright.cli.views.run_views import find_gate, find_plan
from planwright.domain.errors import GateError, PlanwrightError, SetupError
from planwright.presentation.rows import Card, JsonObject
from planwright.security.redaction.known_secrets import redactor_of
from planwright.settings.settings import Settings
from planwright.store.private_files import write_private

NOTHING_SAVED = "nothing was saved, so nothing is changed; the gate is still open"


class Drafts:
    """The edits of one workspace on their way: a text that was refused is kept and opened again."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def text(self, gate_id: str, card: Card) -> str:
        """Spell the plan of a gate, or give back what was typed for it before."""
        path = self._path(gate_id)
        if path.is_file():
            return path.read_text("utf-8")
        from planwright.presentation.plan_text import plan_for_editor  # here: YAML, and few are edited

        gate = find_gate(self._settings, gate_id)
        plan = find_plan(self._settings, gate["run_id"], gate["shown_hash"])
        return plan_for_editor(plan, card, gate_id)

    def open(self, gate_id: str, card: Card) -> JsonObject | None:
        """Open an editor on the plan of a gate and read the edit; None when nothing was saved.

        Raises GateError when the text cannot be read, SetupError when there is no editor.
        """
        otherwise = f"planwright edit {gate_id} --print > plan.yaml, and --file plan.yaml"
        typed = by_hand(self.text(gate_id, card), ".yaml", otherwise)
        path = self._path(gate_id)
        if typed is None or not typed.strip():
            if typed is not None:
                path.unlink(missing_ok=True)  # emptied: the next time begins with the plan again
            return None
        write_private(path, redactor_of(self._settings).text(typed))
        try:
            return _read(typed)
        except GateError as error:
            self.refused(gate_id, error)
            raise

    def has_draft(self, gate_id: str) -> bool:
        """Say whether something typed for a gate is not on record yet."""
        return self._path(gate_id).is_file()

    def refused(self, gate_id: str, error: GateError) -> None:
        """Put what is wrong on top of what was typed, for the next time it is opened."""
        path = self._path(gate_id)
        if gate_id and path.is_file():
            path.write_text(noted(path.read_text("utf-8"), error), "utf-8")

    def accepted(self, gate_id: str) -> None:
        """Forget what was typed for a gate, now that it is on record."""
        if gate_id:
            self._path(gate_id).unlink(missing_ok=True)

    def _path(self, gate_id: str) -> Path:
        return self._settings.store_folder / "edits" / f"{gate_id}.yaml"


def by_hand(text: str, extension: str, otherwise: str) -> str | None:
    """Open an editor on a text; None when nothing was saved. Raises SetupError when there is no editor."""
    try:
        return click.edit(text, extension=extension)
    except click.ClickException as error:
        cause = f"the editor did not work: {error.message}"
        raise SetupError(cause, f"set EDITOR, or: {otherwise}") from error


def noted(typed: str, error: PlanwrightError) -> str:
    """Put what is wrong on top of a typed text, in place of what was wrong before."""
    notes = [f"#! {line}" for line in error.cause.splitlines()]
    return "\n".join([*notes, *plain(typed)]) + "\n"


def plain(typed: str) -> list[str]:
    """Take the notes off the top of a typed text, and return its lines."""
    lines = typed.removesuffix("\n").split("\n")
    return list(itertools.dropwhile(lambda line: line.startswith("#!"), lines))


def from_file(file: str) -> JsonObject:
    """Read an edit from a file, or from stdin for `-`. Raises SetupError or GateError."""
    try:
        text = sys.stdin.buffer.read().decode() if file == "-" else Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"cannot read the edited plan from {file}: {error}", "name a text file") from error
    return _read(text)


def decision(plan: object) -> JsonObject:
    """Phrase an edited plan as LangChain's edit decision; the gate it is sent to shows one plan alone."""
    return {"type": "edit", "edited_action": {"name": "approve_plan", "args": {"plan": plan}}}


def _read(text: str) -> JsonObject:
    from planwright.presentation.plan_text import parse_plan  # here: as in `Drafts.text`

    return decision(parse_plan(text))
