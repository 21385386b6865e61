"""The calls of a streamed reply, put together from their pieces, however a server numbers and repeats them.

By the documentation a piece says the number of its call, and the first one of each also id and name. Some
servers give every call the number 0 (https://github.com/InternLM/lmdeploy/issues/3412), repeat the
name in each piece (https://github.com/NousResearch/hermes-agent/issues/8259) or bring it in parts
(https://github.com/continuedev/continue/pull/5849), and send "null" as an id
(https://github.com/langchain-ai/langchainjs/pull/11373).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

MOST_LOOKS = 20
_NO_ID = ("", "null", "None")


@dataclass
class StreamedCall:
    """One call of a reply, as far as it has come in."""

    id: str = ""
    """Id that its server gave it; "" where it gave none."""
    name: str = ""
    """Name of the tool, as far as it has come in."""
    pieces: list[str] = field(default_factory=list)
    """Pieces of its arguments, as they came in."""
    looks: int = 0
    """How often it was looked whether the arguments are whole."""

    @property
    def arguments(self) -> str:
        """The arguments, as far as they have come in."""
        return "".join(self.pieces)

    def is_whole(self) -> bool:
        """Say whether the arguments are a whole object by now; a call is looked at a few times only."""
        if self.looks == MOST_LOOKS or not (self.pieces and self.pieces[-1].rstrip().endswith("}")):
            return False
        self.looks += 1
        try:
            return isinstance(json.loads(self.arguments, strict=False), dict)
        except (ValueError, RecursionError):
            return False

    def is_followed_by(self, id_: str, name: str, arguments: str) -> bool:
        """Say whether a piece with the number of this call begins another one."""
        if not name or (id_ and id_ == self.id) or not self.name:
            return False
        begun = any(piece.strip() for piece in self.pieces)
        if id_ and self.id:
            return name != self.name or not begun or self.is_whole()
        return begun and (name != self.name or (arguments.lstrip().startswith("{") and self.is_whole()))


@dataclass(frozen=True)
class CallPiece:
    """What a piece of a call adds to it."""

    place: int
    """Place of the call among those of the reply, from 0 on."""
    begins: bool
    """Whether it is the first piece of its call."""
    name: str
    """What it adds to the name of the tool; "" for nothing, also where it repeats the name."""
    arguments: str
    """What it adds to the arguments; "" for nothing, also where it repeats all of them."""


class CallPieces:
    """The calls of one reply, in the order in which they began."""

    def __init__(self) -> None:
        self.calls: list[StreamedCall] = []
        self._newest: dict[object, int] = {}

    def add(self, number: object, id_: object, name: str, arguments: str) -> CallPiece:
        """Add a piece, and say what is new in it. Without a number it goes on with the newest call."""
        id_ = str(id_) if id_ is not None and id_ not in _NO_ID else ""
        place = self._newest.get(number) if number is not None else len(self.calls) - 1
        if place is None or place < 0 or self.calls[place].is_followed_by(id_, name, arguments):
            place, call = len(self.calls), StreamedCall(id_, name, [arguments])
            self.calls.append(call)
            self._newest[number] = place
            return CallPiece(place, True, name, arguments)
        call = self.calls[place]
        repeats = name == call.name
        if repeats and name and arguments and arguments[0] == "{" and call.is_whole():
            arguments = "" if arguments == call.arguments else arguments
        call.id, more = call.id or id_, "" if repeats else name
        call.name += more
        call.pieces.append(arguments)
        return CallPiece(place, False, more, arguments)
