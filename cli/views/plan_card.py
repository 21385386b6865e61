"""The card of a plan at a terminal: each step a sentence, under the one it waits for, with all its values."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from planwright.approvals.cards import SEEN
from planwright.cli.views.call_card import call_part, origins_text
from planwright.cli.views.printable import Hanging, one_line, safe
from planwright.cli.views.rendering import (
    RISK_STYLE,
    argument,
    hint_text,
    label,
    model_use_text,
    risk_text,
    risk_word,
    work_text,
)
from planwright.domain.hashing import same
from planwright.presentation.file_lines import file_lines, rewrite_texts
from planwright.presentation.plan_gates import gate_texts, outside_text, planner_words, undo_text
from planwright.presentation.rows import Card
from planwright.presentation.step_sentence import Sentence, argument_text, step_name, step_sentence

DEEPEST = 5
LONGEST_ID = 12
BESIDE, WIDEST_FACTS = range(110, 181), 44
SHORTENED, CUT_FROM = 200, 300


@dataclass(frozen=True)
class TreeStep:
    """One step of a plan in the tree of what waits for what."""

    card: Card
    """The step, as the card of the plan lists it."""
    depth: int
    """How many steps it hangs under."""
    after: tuple[str, ...]
    """Ids of the steps it also waits for, beside those that it hangs under."""


def plan_view(card: Card, *, whole: bool = False, models: bool = True) -> RenderableType:
    """Show a plan: its steps as sentences, each under what it waits for, and how grave each is.

    Nothing that changes or sends something is ever cut. Long values of steps that only read are, with their
    length, unless `whole`; then references also stand as they are written. What `models` will use is left
    out where it has no price and not all is wanted, and where none is called.
    """
    steps = card["steps"]
    count = f"{len(steps)} step{'s' * (len(steps) != 1)}"
    rows: list[RenderableType] = [label("will", outside, "bold")] if (outside := outside_text(card)) else []
    rows.append(label("plan", f"{count} for: {_request(card)}"))
    read = [step for step in steps if "brought" in step and not whole]
    rows += [label("" if number else "read", _read(step), "dim") for number, step in enumerate(read)]
    rows.append(_Steps(tree(_without(steps, {str(step["id"]) for step in read})), whole))
    rows += [label("goal", words, "dim") for words in planner_words(card)]
    if left := card.get("cannot"):
        rows.append(label("not done", f"{left}", "yellow"))
    needed = card.get("estimate")
    used = f"; {model_use_text(needed)}" if needed and models and (whole or needed["cost"]) else ""
    rows.append(label("estimate", work_text(steps) + used))
    rows.append(label("risk", risk_word(str(card["risk"])), RISK_STYLE[str(card["risk"])]))
    rows += _done({id_: run for id_, run in card.get("done", {}).items() if run != "this run" or not read})
    for number, change in enumerate(card.get("changes", ())):
        rows.append(label("" if number else "changes", change, "yellow"))
    return Group(*rows)


def _request(card: Card) -> str:
    """Quote what a person asked for, or its beginning and how long it is."""
    request = str(card.get("request", ""))
    if len(request) <= CUT_FROM:
        return request
    return f"{request[:SHORTENED]}… ({len(request):,} characters, as it was asked)"


def tree(steps: Sequence[Card]) -> list[TreeStep]:
    """Hang each step under the last of those that it waits for; what that does not imply is named."""
    parents: dict[str, str] = {}
    above: dict[str, tuple[str, ...]] = {}
    under: dict[str, list[Card]] = {"": []}
    extra: dict[str, tuple[str, ...]] = {}
    for step in steps:
        id_ = str(step["id"])
        known = [str(other["id"]) for other in steps if other["id"] in step["after"] and other["id"] in above]
        parent = known[-1] if known else ""
        parents[id_], above[id_] = parent, (*above[parent], parent) if parent else ()
        extra[id_] = tuple(map(str, (a for a in step["after"] if a not in above[id_])))
        under.setdefault(parent, []).append(step)
    ordered, waiting = list[TreeStep](), list(reversed(under[""]))
    while waiting:
        step = waiting.pop()
        id_ = str(step["id"])
        depth = len(above[id_])
        hidden = (parents[id_],) if depth > DEEPEST else ()
        ordered.append(TreeStep(step, depth, (*hidden, *extra[id_])))
        waiting += reversed(under.pop(id_, []))
    return ordered


@dataclass(frozen=True)
class _Steps:
    """The steps of a plan, one under the other; only ids and branches stand in the first column."""

    steps: Sequence[TreeStep]
    """The steps in the order they are shown in."""
    whole: bool
    """Whether nothing is cut."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        marks = [_mark(step) for step in self.steps]
        column = max(map(cell_len, marks), default=0) + 2
        wide = options.max_width in BESIDE
        for step, mark in zip(self.steps, marks, strict=True):
            sentence, facts = step_sentence(step.card), _facts(step)
            text = Text(sentence.text)
            if len(str(step.card["id"])) > LONGEST_ID:
                text = Text.assemble((one_line(step.card["id"]), "bold"), ": ", text)
            aside = wide and cell_len(facts.plain) <= WIDEST_FACTS
            yield _beside(mark, column, text, Text("  ") + facts if aside else None)
            rest = _rows(step.card, sentence, self.whole)
            for row in rest if aside else (facts, *rest):
                yield _beside("", column, row)


def _beside(
    mark: str, column: int, text: RenderableType, facts: RenderableType | None = None
) -> RenderableType:
    """Set a row of a step behind its mark, with the facts of the step at the right where they are there."""
    grid = Table.grid(expand=facts is not None)
    grid.add_column(width=column, no_wrap=True, style="bold")
    grid.add_column(overflow="fold", ratio=1 if facts else None)
    if facts is None:
        grid.add_row(mark, text)
        return grid
    grid.add_column(width=WIDEST_FACTS + 2, no_wrap=True)
    grid.add_row(mark, text, facts)
    return grid


def _mark(step: TreeStep) -> str:
    """Spell the first column of a step: a branch where it hangs under another, and its id."""
    id_ = one_line(step.card["id"])
    name = id_ if len(str(step.card["id"])) <= LONGEST_ID else "·"
    depth = min(step.depth, DEEPEST)
    return f"  {'  ' * (depth - 1)}└ {name}" if depth else f"  {name}"


def _facts(step: TreeStep) -> Text:
    """Say what a step calls, how grave that is, whether it asks again, and what else it waits for."""
    card = step.card
    text = Text.assemble(
        (f"{one_line(card['capability'])} · {card['mode']} · ", "dim"),
        (risk_text(card["risk"]), RISK_STYLE[card["risk"]]),
    )
    if card["own_gate"]:
        again = "you see it first" if card.get("shown_later") else "own gate"
        text.append(f" · {'gate included' if card.get('gate_included') else again}", "bold red")
    also = [step_name(id_) for id_ in step.after]
    also += [f"{step_name(edge['after'])} (both use {edge['both_use']})" for edge in card.get("follows", ())]
    return text.append(f" · after {one_line(', '.join(also))}" if also else "", "dim")


def _rows(step: Card, sentence: Sentence, whole: bool) -> list[RenderableType]:
    """Show all of a step that its sentence has no room for."""
    cut = not whole and step["mode"] == "read_only" and step["risk"] == "None"
    values = {**sentence.rest, **step["params"]} if whole else sentence.rest
    asis = values if whole else sentence.known
    rows = [
        _argument(name, value if name in asis else argument_text(value), cut)
        for name, value in values.items()
    ]
    if "when" in step and whole:
        rows.append(argument("when", one_line(step["when"]), 0, "dim"))
    if "on_empty" in step:
        rows.append(argument("if nothing is found", one_line(step["on_empty"]), 0, "dim"))
    if "model_hint" in step:
        rows.append(argument("model hint", hint_text(step["model_hint"]), 0, "dim"))
    rows += [_argument(f"{name} is", value, cut) for name, value in _resolved(step) if whole]
    rows += [argument("read", one_line(step["brought"]), 0, "dim")] if "brought" in step else []
    marks = [*step.get("marks", ()), *([step["reason"]] if step.get("done_before") else [])]
    rows += [argument("look", mark, 0, "yellow") for mark in marks]
    rows += [argument("gate", text, 0, "bold red") for text in gate_texts(step)]
    rows += [argument("file", one_line(text), 0, "yellow") for text in file_lines(step)]
    rows += [argument("file", text, 0) for text in rewrite_texts(step)]
    if places := origins_text(step):
        rows.append(argument("from", places, 0, "yellow" if SEEN in places else "dim"))
    if criterion := step.get("criterion"):
        rows.append(argument("criterion", f"{criterion} ({step['judged']})", 0, "dim"))
    if undo := undo_text(step):
        rows.append(Text(undo, "dim" if step["undo_by"] else "yellow"))
    if back := step.get("compensation"):
        rows.append(argument("undone by", {back["capability"]: back["params"]}, 0, "dim"))
    calls = step.get("chain", {}).get("calls", ())
    return rows + [row for call in calls for row in call_part(call, call["arguments"], indent=0)]


def _argument(name: str, value: object, cut: bool) -> RenderableType:
    """Show an argument whole, or its beginning and how long it is."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if not cut or len(text) <= CUT_FROM:
        return argument(name, value, 0, "dim")
    begun = Text(f"{one_line(name)}: {safe(text[:SHORTENED])}", "dim")
    return Hanging(begun.append(f"… ({len(text):,} characters; -v shows all)", "yellow"), 4)


def _resolved(step: Card) -> list[tuple[str, object]]:
    """List the arguments of a step whose references are known by now, with their values."""
    values: Mapping[str, object] = step.get("values", {})
    return [(name, value) for name, value in values.items() if not same(value, step["params"].get(name))]


def _without(steps: Sequence[Card], read: Container[str]) -> list[Card]:
    """Leave out the steps that were read first, also as what others wait for."""
    left = [step for step in steps if step["id"] not in read]
    return [{**step, "after": [id_ for id_ in step["after"] if id_ not in read]} for step in left]


def _read(step: Card) -> str:
    """Say on one line what a step that was read first has brought."""
    return f"{one_line(step['id'])} {one_line(step['capability'])}: {one_line(step['brought'])}"


def _done(done: Mapping[str, str]) -> list[RenderableType]:
    """Name the runs that did steps of a plan before it began."""
    by_run = {run: [id_ for id_, by in done.items() if by == run] for run in done.values()}
    return [label("done", f"{', '.join(ids)}: by {run}, not run again", "dim") for run, ids in by_run.items()]
