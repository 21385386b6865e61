"""Ask at the terminal of effects in doubt whether they happened, one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planwright.cli.session.terminal import Terminal
from planwright.cli.views import rendering as views
from planwright.domain.doubt import Doubt, read_result
from planwright.presentation.doubt_lines import call_lines
from planwright.presentation.rows import JsonObject

HAPPENED, NOT_HAPPENED, LEFT = ("y", "yes", "it happened"), ("n", "no", "it did not happen"), ("l", "leave")
UNCLEAR = ("", "ok", "true", "false", "approve", "reject", "a", "r", "h")
CHOICES = "[y] it did, or type what it returned   [n] it did not   [l] leave all open and end"


def ask_each(doubts: Sequence[Doubt], terminal: Terminal, read: Callable[[], str]) -> JsonObject:
    """Ask of every effect whether it happened; leaving one leaves them all."""
    decisions: list[JsonObject] = []
    terminal.screen.print(views.label("happened?", CHOICES))
    for number, (doubt, call) in enumerate(zip(doubts, call_lines(doubts), strict=True), 1):
        answer: JsonObject | None = None
        while answer is None:
            place = f"{number} of {len(doubts)}".ljust(views.LABEL)
            terminal.screen.print(f"{place}{views.one_line(call)}: ", end="", markup=False, soft_wrap=True)
            typed = read()
            if typed.lower() in LEFT:
                return {"type": "reject", "message": ""}
            answer = of_effect(typed)
            if answer is None:
                terminal.screen.print(views.label("", "nothing is decided; type one of these"))
        decisions.append({"key": doubt.key, **answer})
    return {"type": "respond", "effects": decisions}


def of_effect(typed: str) -> JsonObject | None:
    """Read what was typed of one effect; None for what could mean either."""
    word = typed.lower()
    if word in HAPPENED:
        return {"happened": True}
    if word in NOT_HAPPENED:
        return {"happened": False}
    if word in UNCLEAR:
        return None
    return {"happened": True, "result": read_result(typed)}
