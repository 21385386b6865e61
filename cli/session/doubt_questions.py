"""Ask at the terminal of effects in doubt whether they happened, one by one."""

from __future__ import annotations

from collections.abc import Callable

from planwright.cli.session.terminal import Terminal
from planwright.cli.views import rendering as views
from planwright.domain.doubt import SHOWN_KEY, read_result
from planwright.presentation.rows import Card, JsonObject

HAPPENED, NOT_HAPPENED, LEFT = ("y", "yes", "it happened"), ("n", "no", "it did not happen"), ("l", "leave")
UNCLEAR = ("", "ok", "true", "false", "approve", "reject", "a", "r", "h")
CHOICES = "[y] it happened, or type what came of it   [n] it did not happen   [l] leave it and end"


def ask_each(card: Card, terminal: Terminal, read: Callable[[], str]) -> JsonObject:
    """Ask of every effect of a card whether it happened; leaving one leaves them all."""
    decisions: list[JsonObject] = []
    for number, effect in enumerate(card["effects"], 1):
        place, key = f"{number} of {len(card['effects'])}", effect["key"][:SHOWN_KEY]
        terminal.screen.print(views.label("happened?", f"{place}: {effect['capability']}, key {key}"))
        answer: JsonObject | None = None
        while answer is None:
            terminal.screen.print(f"           {CHOICES}: ", end="", markup=False)
            typed = read()
            if typed.lower() in LEFT:
                return {"type": "reject", "message": ""}
            answer = of_effect(typed)
        decisions.append({"key": effect["key"], **answer})
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


def commands(waiting: Card, gate: str) -> str:
    """Spell the command that decides over the effects of a gate, with its keys."""
    keys = [effect["key"][:SHOWN_KEY] for effect in waiting["shown"]["effects"]]
    each = " ".join(f"--happened {key}" for key in keys)
    return f"planwright respond {gate} {each}   (or --happened KEY=RESULT, or --not-happened KEY)"
