"""What a user says in their own words, as far as a text shows it: not what they quote or paste."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterator

from planwright.domain.references import has_reference

LONGEST, MOST = 300, 20_000
GAP = "[…]"  # stands for what was left out: a sentence with it is not whole
FILES = "Files that came with this request:"  # whoever sends a file gives it its name
# In linear time, because a match takes all that it has looked at: what is never closed goes to the end, and
# markup from its first tag to its last closing one. A mail that is passed on goes to the end as well.
_PASTED = (
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|``.*?(?:``|\Z)|^[ \t]*>[^\n]*|<!--.*?(?:-->|\Z)"
    r"|<[A-Za-z][\w-]*(?::[A-Za-z][\w-]*)?(?=[\s/>])(?:.*</[A-Za-z][^<>]*>|.*)"
    r"|\[quote\b.*?(?:\[/quote\]|\Z)"
    r"|^[-_*> \t]*(?:begin forwarded message|forwarded message|original message|weitergeleitete nachricht"
    r"|ursprüngliche nachricht|message transféré|message d['’]origine|mensaje reenviado|mensaje original"
    r"|messaggio inoltrato|messaggio originale|mensagem encaminhada|mensagem original|doorgestuurd bericht"
    r"|oorspronkelijk bericht)\b.*"
    r"|^(?:from|von|de|da|van|expéditeur|mittente):[^\n]*@.*"
    r"|^(?:on|am|le|el|il|em|op) [^\n]{5,200}(?:wrote|schrieb[^\n]{0,80}|écrit|escribió|scritto|escreveu"
    r"|schreef[^\n]{0,80})[ \t]*:.*"
    rf"|^{FILES}[^\n]*"
)
_QUOTED = re.compile(
    rf"{_PASTED}"
    r"|“[^”]{40,}”?|\"[^\"]{40,}(?:\"|\Z)|«[^»]{40,}»?|»[^«]{40,}«?|„[^“”]{40,}[“”]?|”[^”]{40,}”?"
    r"|「[^」]{40,}」?|『[^』]{40,}』?|‹[^›]{40,}›?|＂[^＂]{40,}＂?"
    r"|‘(?:[^’]|(?<=\w)’(?=\w)){40,}(?:’|\Z)|(?<!\w)'(?:[^']|(?<=\w)'(?=\w)){40,}(?:'|\Z)",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
PASTES = re.compile(_PASTED, re.DOTALL | re.MULTILINE | re.IGNORECASE)
PASTE_MARKS = (  # one of these is in whatever is pasted: seven times as fast as the pattern
    "`` ~~~ > < [quote message nachricht mensaje messaggio mensagem bericht d'origine @ wrote schrieb écrit"
    " escribió scritto escreveu schreef request:"
).split()
# Words of a person about themselves, and for what holds always: en, de, fr, es, it, pt, nl.
_SPEAKER = frozenset(
    "i i'm i'd i've we we're always never remember prefer ich wir immer nie niemals merke merk je j'ai nous"
    " toujours jamais retiens yo nosotros siempre nunca prefiero recuerda io noi sempre preferisco ricorda"
    " eu prefiro lembre ik wij altijd nooit onthoud".split()
)
_OWN = frozenset(
    "my mine our mein meine meiner unser unsere mon ma mes notre nos mi mis nuestro nuestra mio mia miei"
    " nostro nostra meu minha meus minhas nosso nossa mijn onze".split()
)
_IS = frozenset("is are was ist sind heißt est sont es son è sono é são zijn".split())
OTHER_SCRIPT = re.compile(r"[^\W\d_\u0000-\u024f]")
_SECRET = re.compile(
    r"\b(?:pass(?:word|phrase|code|wort)|kennwort|pin(?: code)?|cvv|secret|token|api[ _-]?key|private key"
    r"|credit card|iban|ssn|social security)s?\b|\[REDACTED ",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+(?:['’]\w+)?")
_SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_SHORTENED = re.compile(r"\W*(?:\w|[A-Z]\w{1,3})\.")  # J. Dr. Prof.
_PATH = re.compile(r"[/\\]|\w\.\w+$")
_EXACT = re.compile(r"[\d@/\\]")
_SPACES = " \t\n\r\f\v"
_APART = re.compile(f"[{_SPACES}]+")
_JOINED = frozenset(("Mn", "Mc", "Me", "Cf"))
_NAME = re.compile(r"\S*(?:[@/\\]|\w\.\w)\S*")  # of a person, a host or a file
_STOPS = ".!,;:"


def own_words(request: str) -> str:
    """Put a gap into a message for what is fenced, marked up, marked as quoted, or a long quotation.

    No more than the first 20,000 characters are returned: whoever looks through them does it many times.
    """
    own = _QUOTED.sub(f" {GAP} ", request)
    return own if len(own) <= MOST else f"{own[:MOST]} {GAP}"


def speaks_of_user(request: str) -> bool:
    """Say whether a message speaks of its user: "I …", "my … is …", or for good: "always …".

    It costs nothing and decides whether a model is asked at all. It knows the words of a few languages;
    a message in another script is always looked at. "Search my mail" says nothing of its user.
    """
    own = own_words(request)
    words = [word.replace("’", "'") for word in _WORD.findall(own.lower())]
    owns = (n for n, word in enumerate(words) if word in _OWN)
    states = any(_IS.intersection(words[n + 2 : n + 6]) for n in owns)
    return states or not _SPEAKER.isdisjoint(words) or bool(OTHER_SCRIPT.search(own))


def holds(text: str, part: str) -> bool:
    """Say whether a text has a part in it word for word, whatever spacing; the case of a path counts.

    A piece of a number, an address or a path is none of its words: not `1` of `1.500`, `1'500` or `1 500`,
    `1500` of `-1500`, `kim@a.example` of `max.kim@a.example.org` or `plan.md` of `old/plan.md`.
    """
    is_path = "@" not in part and _PATH.search(part) is not None
    sought, within = (trimmed(part), trimmed(text)) if is_path else (_plain(part), _plain(text))
    name = part.strip(_SPACES)
    if sought not in within or (_NAME.fullmatch(name) and (name != part or name[-1] in _STOPS)):
        return False  # a name with a dot at its end is another one; in a text, that ends the sentence
    before = r"(?<!\w)(?<!\d,)(?<![-+./\\@:_~#−–⁄])(?<!\d['’٬])"
    after = r"(?!\w)(?![-+./\\@:_,−–⁄]\w)(?!['’٬]\d)"
    if "@" in sought:
        before += r"(?<![\w.][!$%&'’*=?^`{|}])"  # what may stand within an address (RFC 5322, 3.2.3)
    if re.match(r"\d{3}(?!\d)", sought):
        before += r"(?<!\d\s)"  # the end of a number in groups of three
    if re.search(r"(?<!\d)\d{1,3}$", sought):
        after += r"(?!\s\d{3}(?!\d))"  # the beginning of one
    places = re.finditer(f"{before}{re.escape(sought)}{after}", within) if sought else ()
    return any(_is_whole(within[: place.start()][-1:] + within[place.end() :][:1]) for place in places)


def _is_whole(around: str) -> bool:
    """Say whether no mark or hidden letter stands beside a word: with it, that is another word."""
    return not any(unicodedata.category(letter) in _JOINED for letter in around)


def says(request: str, text: str) -> bool:
    """Say whether a text is a whole sentence of its user's own in a message, and no question.

    Where it is open whether a sentence ends (`Dr. Smith`, a new line), it goes on: half of one may say the
    opposite of the whole.
    """
    return bool(_plain(text)) and _plain(text) in map(_plain, _sentences(_words(own_words(request))))


def may_be_kept(text: str) -> bool:
    """Say whether a text is one short thing to remember: whole, no secret, and no reference."""
    short = len(text) <= LONGEST and len(text.split()) > 1 and GAP not in text
    return short and not _SECRET.search(text) and not has_reference(text)


def exact_words(text: str) -> list[str]:
    """List the words with a digit, an @ or a slash: numbers, dates, addresses, which nobody rewords."""
    return [word.strip(".,;:!?()[]\"'“”") for word in text.split() if _EXACT.search(word)]


def _sentences(words: list[str]) -> Iterator[str]:
    """Walk the sentences of a text by its words, without questions."""
    start = 0
    for end, (word, then) in enumerate(zip(words, [*words[1:], ""], strict=False), 1):
        stops = word[-1] in ".!?" and not then[:1].islower() and not _shortened(word)
        if stops or not then:
            if word[-1] != "?":
                yield " ".join(words[start:end])
            start = end


def _shortened(word: str) -> bool:
    """Say whether a full stop belongs to a word, as in `e.g.`, and ends no sentence."""
    inner = word[-1] == "." and "." in word[:-1]
    return inner or _SHORTENED.fullmatch(word) is not None


def folded(text: str) -> str:
    """Spell a name, an address or a text as it is compared: A to Z in small letters, all else to the letter.

    Other letters fold onto each other (`ß` onto `ss`, the Kelvin sign onto `k`: CaseFolding.txt), and
    so one person's address would be another's.
    """
    return text.translate(_SMALL)


def _plain(text: str) -> str:
    return folded(trimmed(text))


def trimmed(text: str) -> str:
    """Spell a text with single spaces, and without what may end a sentence."""
    return " ".join(_words(text)).rstrip(f"{_STOPS} ")


def _words(text: str) -> list[str]:
    """Split a text at the spaces of ASCII: another space makes another name."""
    return _APART.split(text.strip(_SPACES)) if text.strip(_SPACES) else []
