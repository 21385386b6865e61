"""What the view of a run looks like: rows for a screen of a given size, and the lines that stay behind.

No row of a risky step is ever cut: it is wrapped, or, when it would fill the screen, its arguments
are counted instead; steps that find no room are counted as well. Every row is one row of the screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from planwright.cli.session.step_records import shortened
from planwright.cli.views.printable import chop, one_line, pad, safe
from planwright.cli.views.rendering import risk_text, usage
from planwright.domain.results import MICRO_CENTS_PER_DOLLAR
from planwright.presentation.figures import dollars
from planwright.presentation.run_view import RunLine, RunView, State
from planwright.settings.agents import RunBudgetSettings

LOOKS: dict[State, tuple[str, str]] = {
    "pending": ("◷", "dim"),
    "running": ("▶", "cyan"),
    "waiting": ("⏸", "bold yellow"),
    "done": ("✓", "green"),
    "failed": ("✗", "red"),
    "rejected": ("⊘", "red"),
    "skipped": ("–", "yellow"),
}
URGENCY: tuple[State, ...] = ("waiting", "running", "failed", "rejected", "pending", "skipped", "done")
MORE = {"pending": "to come", "waiting": "waiting for a decision", "done": "done"}
HANGING = 8
LONGEST, SHORT = 5, 2
WIDEST_ID, WIDEST_NAME = 12, 24
CALLS_SHOWN = 3
ANSWER_INDENT = "  "  # the first column is for what the program says and asks
ANSWER_SHOWN = 6
GATE_ROWS = 2


@dataclass(frozen=True)
class LineLayout:
    """How lines are laid out: `short` in few rows each, `whole` with nothing left out."""

    now: float
    """The present moment, in seconds of the clock that lines are timed by."""
    width: int
    """Columns of the terminal."""
    columns: tuple[int, int]
    """Widths of the columns for id and capability."""
    short: bool = False
    """Whether each line takes few rows."""
    whole: bool = False
    """Whether nothing is left out."""


def frame(view: RunView, now: float, width: int, height: int, limits: RunBudgetSettings) -> RenderableType:
    """Show a run at a moment, in at most `height` rows of at most `width` cells."""
    foot = footer(view, now, width, limits)
    room = max(height - len(foot), 1)
    answer = answer_rows(view, width, min(ANSWER_SHOWN, max(room // 3, 1)))
    return Group(*window(view.lines, now, width, max(room - len(answer), 0)), *answer, *foot)


def window(lines: Sequence[RunLine], now: float, width: int, room: int) -> list[Text]:
    """Choose what to show where not everything fits: what asks and runs first, then what is near it."""
    layout = LineLayout(now, width, _columns(lines))
    whole = [rows(line, layout) for line in lines]
    if sum(map(len, whole)) <= room:
        return [row for block in whole for row in block]
    centre = next((n for n, line in enumerate(lines) if line.state in ("waiting", "running")), len(lines))
    order = sorted(range(len(lines)), key=lambda n: (URGENCY.index(lines[n].state), abs(n - centre), n))
    blocks: dict[int, list[Text]] = {}
    left = room - 1  # the row that counts the others
    for number in order:
        small = rows(lines[number], replace(layout, short=True))
        block = whole[number] if len(whole[number]) <= left else small
        if len(block) <= left:
            blocks[number] = block
            left -= len(block)
    hidden = [line.state for number, line in enumerate(lines) if number not in blocks]
    counted = [f"{hidden.count(state)} more {MORE.get(state, state)}" for state in URGENCY if state in hidden]
    rest = Text(f"  … {', '.join(counted)}", "dim")
    rest.truncate(width, overflow="ellipsis")
    return [row for number in sorted(blocks) for row in blocks[number]] + [rest][: max(room, 0)]


def rows(line: RunLine, layout: LineLayout, indent: int = 2) -> list[Text]:
    """Show a line and the calls under it, and the calls of an agent under the one that called it."""
    calls = line.calls if layout.whole else _some(line.calls, 0 if layout.short else CALLS_SHOWN)
    texts = _line_rows(line, layout, indent)
    for call in calls:
        texts += rows(call, layout, indent + 4)
    if hidden := len(line.calls) - len(calls):
        texts.append(Text(" " * (indent + 4) + f"… {hidden} more call{'s' * (hidden != 1)}", "dim"))
    return texts


def left_behind(lines: Sequence[RunLine], now: float, width: int) -> RenderableType:
    """Show what settled or waits as it stays on the screen: whole, however many rows that takes."""
    layout = LineLayout(now, width, _columns(lines), whole=True)
    return Group(*(row for line in lines for row in rows(line, layout)))


def answer_rows(view: RunView, width: int, room: int) -> list[Text]:
    """Show the newest rows of an answer that is still coming in."""
    inner = width - len(ANSWER_INDENT)
    texts = [row for part in safe(view.answer).splitlines() for row in pack(part.split(" "), inner, " ")]
    return [Text(ANSWER_INDENT + row) for row in texts[-room:]]


def footer(view: RunView, now: float, width: int, limits: RunBudgetSettings) -> list[Text]:
    """Sum up: phase, time, how many steps are through, usage, what is left of the budget, open gates."""
    steps = [line for line in view.lines if line.id]
    asking = view.gates and not any(line.state == "running" for line in view.lines)
    parts = [
        "waiting for a decision" if asking else view.phase,
        seconds(now - view.began if view.began else 0),
    ]
    if view.thinking:
        parts.append(f"thinking, {max(0, int(now - min(view.thinking.values())))} s")
    if steps:
        parts.append(f"{sum(line.settled for line in steps)} of {len(steps)} steps")
    if not view.only_embedded:
        parts.append(usage(view.usage))
    if left := budget_left(view, limits):
        parts.append(f"left: {', '.join(left)}")
    rest = [Text(f"  {row}", "dim") for row in pack(parts, width - 2)]
    gates = ", ".join(map(one_line, view.gates.values()))
    named = chop(f"  ⏸ open gates: {gates}", width) if gates else []
    if len(named) > GATE_ROWS:
        named = [f"  ⏸ {len(view.gates)} open gates"]
    gate_rows = [Text(row, "bold yellow") for row in named]
    return [*gate_rows, *rest]


def budget_left(view: RunView, limits: RunBudgetSettings) -> list[str]:
    """Name what a run may still use of each limit that is set."""
    left = []
    if limits.tokens is not None:
        left.append(f"{max(limits.tokens - view.tokens, 0):,} tokens")
    if limits.tool_calls is not None:
        left.append(f"{max(limits.tool_calls - view.tool_calls, 0):,} calls")
    if limits.cost is not None:
        left.append(dollars(max(float(limits.cost) * MICRO_CENTS_PER_DOLLAR - view.cost, 0)))
    return left


def seconds(value: float) -> str:
    """Spell a length of time in few cells."""
    if value < 60:
        return f"{max(value, 0):.1f} s"
    minutes, rest = divmod(int(value), 60)
    return f"{minutes} min {rest:02} s"


def pack(parts: Sequence[str], width: int, between: str = " · ") -> list[str]:
    """Set parts beside each other, and onto a new row where the next one does not fit."""
    packed = [""]
    for part in parts:
        joined = f"{packed[-1]}{between}{part}" if packed[-1] else part
        if cell_len(joined) <= width:
            packed[-1] = joined
        else:
            packed = [*filter(None, packed), *chop(part, width)]
    return packed


def _columns(lines: Sequence[RunLine]) -> tuple[int, int]:
    """Measure the columns of ids and of capabilities; what is longer pushes its row to the right."""
    ids = max((cell_len(one_line(line.id)) for line in lines), default=0)
    names = max((cell_len(one_line(line.capability)) for line in lines), default=0)
    return min(ids, WIDEST_ID), min(names, WIDEST_NAME)


def _line_rows(line: RunLine, layout: LineLayout, indent: int) -> list[Text]:
    mark, style = LOOKS[line.state]
    ids, names = layout.columns if line.id else (0, 0)
    name = f"{pad(line.id, ids)} {pad(line.capability, names)}".lstrip()
    to_come = line.state == "pending" and bool(line.sentence)
    if to_come:  # as on the card of its plan
        line, name = replace(line, args=line.sentence), pad(line.id, ids)
    took = line.seconds if line.settled else layout.now - line.since if line.since else None
    time = seconds(took) if took is not None and line.state != "waiting" else ""
    tries = f"×{line.tries} " if line.tries > 1 else ""
    risk = f"{risk_text(line.risk)} " if line.risky else ""
    timed = "" if to_come else f" {time:<7} "
    head = f"{' ' * indent}{mark} {name} {timed}{risk}{tries}"
    hanging = indent + HANGING
    if not line.risky and not (layout.whole and line.note):
        row = Text(f"{head} {_in_short(line, layout.width - cell_len(head) - 1)}"[: 4 * layout.width])
        row.truncate(layout.width, overflow="ellipsis")
        return [_styled(row, indent, len(name), style)]
    brought = f"→ {line.brought}" if line.brought else ""
    tail = "  ".join(filter(None, (line.args if line.risky else "", brought, line.note)))
    most = SHORT if layout.short else LONGEST
    texts = (
        []
        if not layout.whole and len(tail) > 4 * most * layout.width
        else _hang(f"{head} {tail}", layout.width, hanging)
    )
    if not layout.whole and not 0 < len(texts) <= most:
        counted = f"({len(line.args):,} characters, in full at the end)"
        texts = _hang(f"{head} {counted}", layout.width, hanging)
    return [_styled(Text(texts[0]), indent, len(name), style), *(Text(row, "dim") for row in texts[1:])]


def _in_short(line: RunLine, room: int) -> str:
    """Say in one row what a line used and brought, each cut between words where it does not fit."""
    if line.note or not line.brought:
        return shortened(line.note or line.args, room)
    least = min(cell_len(line.brought), max(room // 2, room - cell_len(line.args) - 3))
    brought = shortened(line.brought, least)
    return f"{shortened(line.args, max(room - cell_len(brought) - 3, 4))} → {brought}".strip()


def _hang(text: str, width: int, indent: int) -> list[str]:
    """Break a text into rows, all but the first indented: none of them can pass for a line of ours."""
    first = chop(text, width)[0]
    rest = chop(text[len(first) :], width - indent) if len(first) < len(text) else []
    return [first, *(" " * indent + row for row in rest)]


def _styled(row: Text, indent: int, name: int, style: str) -> Text:
    row.stylize("dim", indent + 2 + name)
    row.stylize(style, indent, indent + 2)
    row.stylize("bold", indent + 2, indent + 2 + name)
    return row


def _some(calls: Sequence[RunLine], most: int) -> list[RunLine]:
    """Pick the calls that run, then the newest, in their order."""
    ranked = sorted(range(len(calls)), key=lambda n: (calls[n].state != "running", -n))
    return [calls[n] for n in sorted(ranked[:most])]
