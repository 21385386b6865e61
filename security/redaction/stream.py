"""A text that comes in pieces, without the secrets that may be cut in two by them."""

from __future__ import annotations

from planwright.security.redaction.redactor import Redactor


class RedactedStream:
    """Take pieces of a text and give them on, holding back what may be the beginning of a secret."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""

    def feed(self, piece: str) -> str:
        """Take a piece, and return what is safe to show by now."""
        text = self._held + piece
        cut = self._redactor.settled(text)
        self._held = text[cut:]
        return self._redactor.text(text[:cut])

    def rest(self) -> str:
        """Return what was held back, when nothing more comes."""
        held, self._held = self._held, ""
        return self._redactor.text(held)
