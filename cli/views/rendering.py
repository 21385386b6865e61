"""How things look in a terminal: pure functions from recorded data to what rich can print."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from planwright.cli.views.plan_gates import gate_texts
from planwright.cli.views.rows import Card, EventData, Report

RISK_STYLE = {"None": "dim", "Low": "green", "Medium": "yellow", "High": "red", "Critical": "bold red"}
MICRO_CENTS_PER_DOLLAR = 100_000_000


def console(stderr: bool = False) -> Console:
    """Open a console that wraps for a person, leaves lines whole for a pipe, and shows brackets as such."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 4000
    return Console(file=stream, highlight=False, markup=False, emoji=False, width=width)


def label(name: str, text: str, style: str = "") -> Table:
    """Put a fact behind its name, aligned with its neighbours and wrapped beside it."""
    row = Table.grid()
    row.add_column(width=11, style="bold cyan", no_wrap=True)
    row.add_column(overflow="fold")
    row.add_row(name, Text(safe(text), style))
    return row


def safe(text: object) -> str:
    """Make a text printable: control, bidirectional and invisible characters show as escapes."""
    return "".join(
        c if c == "\n" or (c.isprintable() and c not in _HIDDEN) else ascii(c)[1:-1] for c in str(text)
    )


def pad(text: object, width: int) -> str:
    """Make a text printable on one line, and fill it up to a width in cells."""
    printable = one_line(text)
    return printable + " " * (width - cell_len(printable))


def chop(text: str, width: int) -> list[str]:
    """Break a text into rows of at most `width` cells, after a space where one is near, losing nothing."""
    rows, width = [], max(width, 2)
    while len(text) > 4 * width or cell_len(text) > width:
        row = chop_cells(text[: 4 * width], width)[0]
        space = row.rfind(" ") + 1
        rows.append(row[:space] if 2 * space > len(row) else row)
        text = text[len(rows[-1]) :]
    return [*rows, text]


@dataclass(frozen=True)
class Hanging:
    """A text whose rows but the first are indented: none of them can pass for a line of ours."""

    text: Text
    """The text."""
    indent: int
    """Columns by which every row but the first is indented."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        first, *rest = self.text.wrap(console, options.max_width - self.indent, overflow="fold") or [Text()]
        yield first
        for row in rest:
            yield Text(" " * self.indent) + row


def one_line(text: object) -> str:
    """Make a text printable on its one line, so that it cannot pass for a line of ours."""
    return safe(text).replace("\n", "\\n")


# Letters and marks that leave no ink, and could hide or smuggle what they stand among. Control and
# bidirectional characters are not printable in the first place; U+FE0E and U+FE0F belong to emoji.
_HIDDEN = frozenset(
    map(
        chr,
        (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164, 0xFFA0)
        + (*range(0xFE00, 0xFE0E), *range(0xE0100, 0xE01F0)),
    )
)


def model_line(route: Card) -> RenderableType:
    """Say which model serves; the embedded one says what it is not."""
    if route["embedded"]:
        text = f"{route['model']}: embedded planner, not a language model. Add a real one: OPENAI_API_KEY, or"
        return label("model", f"{text} [providers.<id>] in planwright.toml", "yellow")
    return label("model", f"{route['model']} ({route['provider']})")


def plan_view(card: Card) -> RenderableType:
    """Show a plan: its steps in dependency order, what they do with what, risk, mode and gates."""
    rows: list[RenderableType] = [label("plan", f"{card['goal']}")]
    ids = max((cell_len(one_line(step["id"])) for step in card["steps"]), default=0)
    names = max((cell_len(one_line(step["capability"])) for step in card["steps"]), default=0)
    for step in card["steps"]:
        order = (f"{edge['after']} (both use {edge['both_use']})" for edge in step.get("follows", ()))
        sooner = ", ".join([*step["after"], *order])
        after = f" after {one_line(sooner)}" if sooner else ""
        included = "  gate included" if step.get("gate_included") else "  own gate"
        gate = included if step["own_gate"] else ""
        head = Text.assemble(
            (f"  {pad(step['id'], max(ids, 3))} ", "bold"),
            (f"{pad(step['capability'], max(names, 15))} ", ""),
            (f"{step['risk']:<9}", RISK_STYLE[step["risk"]]),
            (f"{step['mode']:<12}", "dim"),
            (after, "dim"),
            (gate, "bold red"),
        )
        rows.append(Hanging(head, 6))
        task = {"task": step["description"]} if step["capability"] == "agent" else {}
        hint = {"model hint": hint_text(step["model_hint"])} if "model_hint" in step else {}
        params = {**task, **step["params"], **hint}
        rows += [argument(name, value, 8, "dim") for name, value in params.items()]
        rows += [argument(f"{name} is", value, 8) for name, value in _resolved(step)]
        rows += [argument("look", mark, 8, "yellow") for mark in step.get("marks", ())]
        rows += [argument("gate", text, 8, "bold red") for text in gate_texts(step)]
        if criterion := step.get("criterion"):
            rows.append(argument("criterion", f"{criterion} ({step['judged']})", 8, "dim"))
        if back := step.get("compensation"):
            rows.append(argument("undone by", {back["capability"]: back["params"]}, 8, "dim"))
        rows += [row for c in step.get("chain", {}).get("calls", ()) for row in _part(c, c["arguments"])]
    needed = card.get("estimate")
    rows.append(
        label("estimate", work_text(card["steps"]) + (f"; {model_use_text(needed)}" if needed else ""))
    )
    rows.append(label("risk", str(card["risk"]), RISK_STYLE[str(card["risk"])]))
    rows += _done(card.get("done", {}))
    for number, change in enumerate(card.get("changes", ())):
        rows.append(label("" if number else "changes", change, "yellow"))
    return Group(*rows)


def _resolved(step: Card) -> list[tuple[str, object]]:
    """List the arguments of a step whose references are known by now, with their values."""
    values: Mapping[str, object] = step.get("values", {})
    return [(name, value) for name, value in values.items() if value != step["params"].get(name)]


def hint_text(hint: Card) -> str:
    """Say in words what a step asks of its model."""
    return ", ".join(f"{name.removeprefix('requires_')} {need}" for name, need in hint.items())


def _done(done: Mapping[str, str]) -> list[RenderableType]:
    """Name the runs that did steps of a plan before it began."""
    by_run = {run: [id_ for id_, by in done.items() if by == run] for run in done.values()}
    return [label("done", f"{', '.join(ids)}: by {run}, not run again", "dim") for run, ids in by_run.items()]


def work_text(steps: Sequence[Card]) -> str:
    """Sum up what a plan will do: its calls, how many of them change something, and who makes them."""
    agents = sum(step["capability"] == "agent" for step in steps)
    calls = len(steps) - agents
    changes = sum(step["mode"] != "read_only" for step in steps if step["capability"] != "agent")
    kinds = ((calls - changes, "reading"), (changes, "changing or sending something"))
    split = ", ".join(f"{count} {kind}" for count, kind in kinds if count)
    text = f"{calls} call{'s' * (calls != 1)}" + (f" ({split})" if split else "")
    return text + (f", {agents} step{'s' * (agents != 1)} left to a model with tools" if agents else "")


def model_use_text(needed: EventData) -> str:
    """Say what the models of a plan will use, as far as that is known before it runs."""
    calls, least = needed["model_calls"], "at least " if needed["at_least"] else ""
    if not calls:
        return "no call of a model"
    price = "unpriced" if needed["cost"] is None else f"from {dollars(needed['cost'])}"
    return f"{least}{calls} call{'s' * (calls != 1)} of a model, from {needed['tokens']:,} tokens, {price}"


def run_estimate_text(run: EventData) -> str:
    """Say what a whole run was thought to use, before its plan was run."""
    price = "unpriced" if run["cost"] is None else f"from {dollars(run['cost'])}"
    calls = run["model_calls"]
    return f"from {calls} model call{'s' * (calls != 1)}, {run['tokens']:,} tokens, cost {price}"


def dollars(micro_cents: int) -> str:
    """Spell an amount of money."""
    return f"${micro_cents / MICRO_CENTS_PER_DOLLAR:.4f}"


def amount(unit: str, value: int) -> str:
    """Spell an amount with its unit."""
    return dollars(value) if unit == "cost" else f"{value:,} {unit.replace('_', ' ')}"


def limit_text(data: EventData) -> str:
    """Say how much of a limit is used up, and that its provider does not serve, where that is so."""
    window = f" in {data['window']} (UTC)" if data.get("window") else ""
    used = f"{amount(data['unit'], data['used'])} of {amount(data['unit'], data['of'])}"
    benched = f"; provider {data['benched']} is benched" if data.get("benched") else ""
    return f"{data['percent']} % of {data['limit']} used{window}: {used}{benched}"


def how_to_reply(thread_id: str, where: str = "") -> str:
    """Spell the command that answers the question a run has ended with."""
    return f'planwright respond {thread_id}{where} "the answer"'


def call_view(card: Card) -> RenderableType:
    """Show one call that waits for a decision, with its arguments as they will be sent."""
    rows: list[RenderableType] = [
        label("gate", f"{card['capability']}: {card['description']}"),
        label("why", str(card["reason"])),
        label("risk", f"{card['risk']} ({card['mode']}, {card['effect']})", RISK_STYLE[str(card["risk"])]),
    ]
    if approvers := (card.get("policy") or {}).get("approvers"):
        rows.append(label("approvers", f"{', '.join(approvers)} ({card['policy']['rule']})"))
    if (quorum := (card.get("policy") or {}).get("quorum", 1)) > 1:
        rows.append(label("quorum", f"{quorum} different people have to approve ({card['policy']['rule']})"))
    if "calls" in card:
        calls = [{**call, "id": str(number)} for number, call in enumerate(card["calls"], 1)]
        rows += [row for call in calls for row in _part(call, call["args"], call["risk"])]
    else:
        rows += [argument(name, value, 11) for name, value in card["args"].items()]
    rows += [row for effect in card.get("effects", ()) for row in _doubt(effect)]
    rows += [label("look", mark, "yellow") for mark in card.get("marks", ())]
    rows += [label("beside", other) for other in card.get("others", ())]
    if width := card.get("width"):
        rows.append(label("for run", f"{width['words']}"))
    if "definition" in card:
        rows.append(label("chain", f"{card['definition'][:12]}: this call of it, with what is known by now"))
        rows += [row for step in card["steps"] for row in _part(step, step["args"], step["risk"])]
    return Group(*rows)


def _part(call: Card, args: Card, risk: str = "") -> list[RenderableType]:
    """Show one call of a chain under it; what earlier calls bring is still a reference."""
    head = Text.assemble((f"{one_line(call['id'])} ", "bold"), f"{one_line(call['capability'])} ")
    head.append(risk, RISK_STYLE.get(risk, ""))
    again = call.get("mode") == "destructive" and not call.get("gate_included")
    head.append("  own gate" if again else "", "bold red")
    rows = [argument(name, value, 15, "dim") for name, value in args.items()]
    return [Padding(head, (0, 0, 0, 11), expand=False), *rows]


def _doubt(effect: Card) -> list[RenderableType]:
    """Show an effect in doubt: the beginning of its key, the call, when it was sent, and why nobody knows."""
    sent = f"{effect['sent_at'][:19].replace('T', ' ')} UTC"
    rows = _part({**effect, "id": effect["key"][:12]}, effect["args"])
    return [*rows, argument("sent", sent, 15), argument("why", effect["why"], 15)]


def arguments_view(args: Mapping[str, object]) -> RenderableType:
    """Show what a call was made with, references filled in; what was left out is left out."""
    return Group(
        *(argument(name, value, 13, "dim") for name, value in args.items() if value not in (None, []))
    )


def argument(name: str, value: object, indent: int, style: str = "") -> RenderableType:
    """Show one argument, all its lines indented: none of them can pass for a line of ours."""
    spelled = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = Text(f"{one_line(name)}: {safe(spelled)}", style, overflow="fold")
    return Padding(text, (0, 0, 0, indent), expand=False)


def usage(spent: EventData) -> str:
    """Sum up model calls, tokens and cost; a price nobody knows is never shown as 0."""
    cost = f"${spent['cost'] / MICRO_CENTS_PER_DOLLAR:.4f}"
    if spent["unpriced"]:
        cost = (
            "unpriced"
            if spent["unpriced"] == spent["model_calls"]
            else f"{cost} and {spent['unpriced']} unpriced"
        )
    calls = spent["model_calls"]
    return f"{calls} model call{'s' * (calls != 1)}, {spent['tokens']:,} tokens, cost {cost}"


def runs_table(rows: Sequence[Report], waiting: bool = False) -> Table:
    """List runs; those that wait with their gates."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    second = ("gate", "gates") if waiting else ("status", "status")
    for name, cell in (("thread", "thread_id"), second, ("started", "")):
        texts = (part for row in rows for part in str(row[cell]).split()) if cell else ("2026-01-01 00:00",)
        width = max(map(len, texts))
        table.add_column(name, no_wrap=True, min_width=width)
    table.add_column("request", no_wrap=True, overflow="ellipsis", ratio=1)
    for row in rows:
        started = str(row["started_at"])[:16].replace("T", " ")
        cells = str(row[second[1]]).replace(" ", "\n")
        table.add_row(row["thread_id"], cells, started, safe(row["title"]))
    return table
