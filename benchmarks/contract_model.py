"""What the model behind a strict server answers: the next call of a case, or its end.

A case is named in the request (`CASE:loop`). How far it has come is read off the conversation: a call that
is in it, as a call or in words, was made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

Json = dict[str, Any]
ANSWER = "Two tickets are open."
TURNS: Mapping[str, Sequence[Sequence[tuple[str, Json]]]] = {
    "loop": ((("tickets__list", {}),), (("datetime__now", {}),)),
    "parallel": ((("tickets__list", {}), ("datetime__now", {})), (("calendar__list", {}),)),
    "gate": (
        (("tickets__list", {}),),
        (("tickets__create", {"title": "Broken door", "body": "It does not close."}),),
    ),
}
"""The calls of each case, turn by turn; after the last comes the answer."""
BROKEN_PLAN: Json = {"goal": "Count the tickets", "steps": [{"id": "s1", "capability": "tickets.lst"}]}
PLAN: Json = {
    "goal": "Count the tickets",
    "steps": [
        {
            "id": "s1",
            "description": "Say how many tickets are open. CASE:loop",
            "tool_hints": ["tickets.list", "datetime.now"],
        }
    ],
}


@dataclass(frozen=True)
class Turn:
    """One message of a conversation, whatever API it came by."""

    role: str
    """`user`, `assistant` or `tool`."""
    text: str
    """Its words."""
    calls: Sequence[str] = ()
    """Names of the tools that it calls."""


@dataclass(frozen=True)
class Conversation:
    """What a model is asked, whatever API it came by."""

    system: str
    """The instructions."""
    turns: Sequence[Turn]
    """The messages, the oldest first."""
    tools: Sequence[str]
    """Names of the tools on offer."""
    shaped: bool = False
    """Whether an answer by a form of its own is asked for."""

    @property
    def too_long(self) -> bool:
        """Whether it has two turns with calls, and nothing of it was summed up."""
        made = sum(bool(turn.calls) for turn in self.turns)
        return made > 1 and "[Summary" not in "".join(turn.text for turn in self.turns)


@dataclass(frozen=True)
class Reply:
    """What a model answers: words, calls, and what it thought before."""

    text: str = ""
    """Its words."""
    calls: Sequence[tuple[str, Json]] = ()
    """Its calls: names and arguments."""
    thoughts: str = ""
    """What it thought."""
    cut: int = 0
    """Tokens after which it was cut off, in the middle of its thoughts; 0 for a whole one."""


def thoughts_of(name: str) -> str:
    """Say what the model of a server thinks before each reply."""
    return f"As the model of {name} I think: which tickets are there? I have to look."


def answer_to(asked: Conversation, name: str) -> Reply:
    """Answer as the case of a conversation says, as the model of a server."""
    return replace(_answer(asked), thoughts=thoughts_of(name))


def _answer(asked: Conversation) -> Reply:
    said = "\n".join(turn.text for turn in asked.turns)
    if '{"word"' in said:  # of a probe
        return Reply('{"word": "ok"}')
    if "ping" in asked.tools:
        return Reply(calls=(("ping", {"word": "ok"}),))
    if "planner" in asked.tools:
        return Reply(calls=(("planner", _plan(said)),))
    if not asked.tools:
        return Reply(json.dumps(_plan(said)) if asked.shaped else _words(asked, said))
    case = next(iter(re.findall(r"CASE:(\w+)", said)), "loop")
    made = {name for turn in asked.turns for name in turn.calls}
    made |= {name for name in asked.tools if name in said}
    for calls in TURNS[case if case in TURNS else "loop"]:
        if not made >= {name for name, _ in calls}:
            return Reply(calls=[(name, args) for name, args in calls if name not in made])
    return Reply(ANSWER)


def _plan(said: str) -> Json:
    """Plan wrongly once, then right: findings name what is wrong."""
    return PLAN if "tickets.lst" in said else BROKEN_PLAN


def _words(asked: Conversation, said: str) -> str:
    """Answer, or sum up what was called so far."""
    called = [name for case in TURNS.values() for turn in case for name, _ in turn if name in said]
    return f"So far: {', '.join(dict.fromkeys(called))} were called." if called else ANSWER
