"""What a user says in their own words, as far as a text shows it: not what they quote or paste."""

from __future__ import annotations

import re

from planwright.graph.references import has_reference

LONGEST = 300
_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|^[ \t]*>[^\n]*|<(\w+)[^>]*>.*?</\1>"
    r"|“[^”]{40,}”|\"[^\"]{40,}\"|«[^»]{40,}»|„[^“”]{40,}[“”]",
    re.DOTALL | re.MULTILINE,
)
_OF_THE_USER = frozenset(
    "i i'm i'd i've my mine our ours we we're always never remember prefer"  # en
    " ich mein meine meinen meinem meiner wir unser unsere unserem unseren immer nie niemals merke merk"  # de
    " je j'ai mon ma mes nous notre nos toujours jamais retiens"  # fr
    " yo mi mis nosotros nuestro nuestra siempre nunca prefiero recuerda"  # es
    " io mio mia miei noi nostro nostra sempre mai preferisco ricorda"  # it
    " eu meu minha meus minhas nosso nossa prefiro lembre"  # pt
    " ik mijn wij onze altijd nooit onthoud".split()  # nl
)
_OTHER_SCRIPT = re.compile(r"[^\W\d_\u0000-\u024f]")
_SECRET = re.compile(
    r"\b(?:pass(?:word|phrase|code|wort)|kennwort|pin(?: code)?|cvv|secret|token|api[ _-]?key|private key"
    r"|credit card|iban|ssn|social security)s?\b|\[REDACTED ",
    re.IGNORECASE,
)
_EXACT = re.compile(r"\S*[\d@/\\]\S*")


def own_words(request: str) -> str:
    """Leave out of a message what is fenced, marked as quoted, or a long quotation."""
    return _QUOTED.sub("\n", request)


def speaks_of_user(request: str) -> bool:
    """Say whether a message has a word that people use about themselves, or for good.

    It costs nothing and decides whether a model is asked at all, so it knows the words of a few languages;
    a message in another script is always looked at.
    """
    words = re.findall(r"\w+(?:['’]\w+)?", own_words(request).lower())
    known = any(word.replace("’", "'") in _OF_THE_USER for word in words)
    return known or bool(_OTHER_SCRIPT.search(request))


def holds(text: str, part: str) -> bool:
    """Say whether a text has a part in it word for word, whatever case and spacing."""
    sought = _plain(part)
    return bool(sought) and re.search(rf"(?<!\w){re.escape(sought)}(?!\w)", _plain(text)) is not None


def may_be_kept(text: str) -> bool:
    """Say whether a text is one short thing to remember: no secret, and nothing that stands for a value."""
    short = len(text) <= LONGEST and len(text.split()) > 1
    return short and not _SECRET.search(text) and not has_reference(text)


def exact_words(text: str) -> list[str]:
    """List the words with a digit, an @ or a slash: numbers, dates, addresses, which nobody rewords."""
    return [word.strip(".,;:!?()[]\"'“”") for word in _EXACT.findall(text)]


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".!,;: ")
