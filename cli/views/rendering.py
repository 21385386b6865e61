"""How things look in a terminal: pure functions from recorded data to what rich can print."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from rich.cells import cell_len
from rich.console import (
    Console,
    ConsoleOptions,
    ConsoleRenderable,
    Group,
    RenderableType,
    RenderHook,
    RenderResult,
)
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from planwright.cli.views.printable import Hanging as Hanging
from planwright.cli.views.printable import one_line as one_line
from planwright.cli.views.printable import safe as safe
from planwright.presentation.figures import amount_text as amount_text
from planwright.presentation.figures import dollars as dollars
from planwright.presentation.figures import model_use_text as model_use_text
from planwright.presentation.figures import risk_text as risk_text
from planwright.presentation.figures import work_text as work_text
from planwright.presentation.rows import Card, EventData, Report

RISK_STYLE = {"None": "dim", "Low": "green", "Medium": "yellow", "High": "red", "Critical": "bold red"}
_GAP = re.compile(r"\n(?:[^\S\n]*\n){3,}")
WIDTH_IN_A_PIPE = 4000  # cells
LABEL = 11  # cells of the name before a fact
LEAST_REQUEST = 24  # cells beside the other columns of a list, else it stands below them
LONGEST_REQUEST = 300  # characters of a request in a list


def console(stderr: bool = False) -> Console:
    """Open a console that wraps for a person, leaves lines whole for a pipe, and shows brackets as such."""
    stream = sys.stderr if stderr else sys.stdout
    piped = not stream.isatty()
    width = WIDTH_IN_A_PIPE if piped else None
    opened = Console(file=stream, highlight=False, markup=False, emoji=False, width=width)
    if piped:
        opened.push_render_hook(_Unpadding())
    return opened


class _Unpadding(RenderHook):
    """Leave out the spaces that rich fills lines up with, to the width of a window that a pipe has not."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Unpadded(renderable) for renderable in renderables]


@dataclass(frozen=True)
class _Unpadded:
    """Something printed without the spaces at the ends of its lines."""

    content: RenderableType
    """What is printed."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line, ends in Segment.split_lines_terminator(console.render(self.content, options)):
            while ends and line and not line[-1].control:
                text, style, _ = line.pop()
                if text := text.rstrip(" "):
                    line.append(Segment(text, style))
                    break
            yield from [*line, Segment.line()] if ends else line


def label(name: str, text: str, style: str = "") -> Table:
    """Put a fact behind its name, aligned with its neighbours and wrapped beside it."""
    row = Table.grid()
    row.add_column(width=LABEL, style="bold cyan", no_wrap=True)
    row.add_column(overflow="fold")
    row.add_row(name, Text(safe(text), style))
    return row


def model_line(route: Card) -> RenderableType:
    """Say which model serves; the embedded one says what it is not."""
    if route["embedded"]:
        text = f"{route['model']}: embedded planner, not a language model. Add a real one: OPENAI_API_KEY, or"
        return label("model", f"{text} [providers.<id>] in planwright.toml", "yellow")
    return label("model", f"{route['model']} ({route['provider']})")


def hint_text(hint: Card) -> str:
    """Say in words what a step asks of its model."""
    return ", ".join(f"{name.removeprefix('requires_')} {need}" for name, need in hint.items())


def risk_word(risk: str) -> str:
    """Name a risk behind the label that says it is one."""
    return "none" if risk == "None" else risk


def run_estimate_text(run: EventData) -> str:
    """Say what a whole run was thought to use, before its plan was run."""
    price = "unpriced" if run["cost"] is None else f"from {dollars(run['cost'])}"
    calls = run["model_calls"]
    return f"from {calls} model call{'s' * (calls != 1)}, {run['tokens']:,} tokens, cost {price}"


def limit_text(data: EventData) -> str:
    """Say how much of a limit is used up, and that its provider does not serve, where that is so."""
    window = f" in {data['window']} (UTC)" if data.get("window") else ""
    used = f"{amount_text(data['unit'], data['used'])} of {amount_text(data['unit'], data['of'])}"
    benched = f"; provider {data['benched']} is benched" if data.get("benched") else ""
    return f"{data['percent']} % of {data['limit']} used{window}: {used}{benched}"


def print_absent(problems: Iterable[str]) -> None:
    """Print on stderr which servers of tools, or tools of them, are missing."""
    for line in problems:
        console(stderr=True).print(label("mcp", line, "yellow"))


def where_option(workspace: Path) -> str:
    """Spell the option that names a workspace in a command; "" where the command is given in it."""
    return "" if workspace.resolve() == Path.cwd() else f" -w {shlex.quote(str(workspace))}"


def how_to_reply(thread_id: str, where: str = "") -> str:
    """Spell the command that answers the question a run has ended with."""
    return f'planwright respond {thread_id}{where} "the answer"'


def arguments_view(args: Mapping[str, object]) -> RenderableType:
    """Show what a call was made with, references filled in; what was left out is left out."""
    return Group(
        *(argument(name, value, 13, "dim") for name, value in args.items() if value not in (None, []))
    )


def argument(name: str, value: object, indent: int, style: str = "") -> RenderableType:
    """Show one argument; its rows but the first stand deeper, so that none can pass for another argument."""
    spelled = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    closed_up = _GAP.sub(lambda gap: f"\n… ({gap[0].count(chr(10)) - 1} empty lines)\n", spelled)
    text = Text(f"{one_line(name)}: {safe(closed_up)}", style)
    return Padding(Hanging(text, 4), (0, 0, 0, indent), expand=False)


def usage(spent: EventData, *, briefly: bool = False) -> str:
    """Sum up model calls, tokens and cost; a price nobody knows is never shown as 0."""
    cost = dollars(spent["cost"])
    if spent["unpriced"]:
        cost = (
            "unpriced"
            if spent["unpriced"] == spent["model_calls"]
            else f"{cost} and {spent['unpriced']} unpriced"
        )
    calls = spent["model_calls"]
    if briefly:
        return f"{spent['tokens']:,} tokens, {cost}"
    return f"{calls} model call{'s' * (calls != 1)}, {spent['tokens']:,} tokens, cost {cost}"


def runs_table(rows: Sequence[Report], width: int, waiting: bool = False) -> RenderableType:
    """List runs; those that wait with their gates."""
    second = ("gate", "gates") if waiting else ("status", "status")
    cells = [
        (
            row["thread_id"],
            "\n".join([*str(row[second[1]]).split(), *_in_doubt(row)]),
            str(row["started_at"])[:16].replace("T", " "),
        )
        for row in rows
    ]
    return requests_table(
        ("thread", second[0], "started"),
        cells,
        [str(row["request"])[:LONGEST_REQUEST] for row in rows],
        width,
    )


def _in_doubt(run: Report) -> list[str]:
    """Say how many effects of a run nobody knows about."""
    return [f"{run['in_doubt']} in doubt"] if run.get("in_doubt") else []


def requests_table(
    names: Sequence[str], cells: Sequence[Sequence[str | Text]], requests: Sequence[str], width: int
) -> RenderableType:
    """List ids and facts with the request of each: behind them, or below where the window is narrow.

    The first two columns are whole wherever they fit; the last ones are left out where they do not.
    """
    columns = zip(names, *cells, strict=True)
    widths = [max(cell_len(part) for cell in column for part in str(cell).split("\n")) for column in columns]
    rows = [Text(one_line(safe(request)), no_wrap=True, overflow="ellipsis") for request in requests]
    if width - sum(widths) - len(widths) >= LEAST_REQUEST:
        beside = zip([*names, "request"], [*widths, None], strict=True)
        return _table(beside, [[*row, request] for row, request in zip(cells, rows, strict=True)])
    fitting = sum(total <= width for total in accumulate(least + 1 for least in widths))
    whole = list(zip(names, widths, strict=True))[: max(2, fitting)]
    lines: list[RenderableType] = [_table(whole, [])]
    for row, request in zip(cells, rows, strict=True):
        request.stylize("dim")
        lines += [_table(whole, [row[: len(whole)]], header=False), request]
    return Group(*lines)


def _table(
    columns: Iterable[tuple[str, int | None]], rows: Iterable[Sequence[str | Text]], *, header: bool = True
) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", show_header=header)
    for name, width in columns:
        table.add_column(name, no_wrap=width is not None, width=width)
    for row in rows:
        table.add_row(*row)
    return table
