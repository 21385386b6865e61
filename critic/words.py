"""What closing words say: that something was done, that it was not, or that there was nothing to do.

Only English is read. Where the words say none of this, the calls on record decide alone.
"""

from __future__ import annotations

import re

_SENTENCE = re.compile(r"(?<![.!?;])[.!?;]+(?=\s|$)|\n")
# Written out, so that each pattern below knows one form: the order counts.
_SHORT_FORMS = (
    ("’", "'"),
    ("won't", "will not"),
    ("can't", "cannot"),
    ("can not", "cannot"),
    ("n't", " not"),
    ("'ve", " have"),
    ("'m", " am"),
    ("'re", " are"),
    ("'ll", " will"),
)
_LEAD = (
    r"^(?:(?:sorry|unfortunately|regrettably|i am (?:very )?sorry|i apologi[sz]e|i am afraid)\W+)?"
    r"(?:(?:but|and|so|that|because) )*"
)
_UNABLE = r"(?:cannot|could not|(?:am|are|was|were) (?:unable|not able) to)"
_FINISH = r"(?:complete|finish|do|perform|carry out|help|assist|proceed|fulfil+|accomplish|continue|comply)\b"
# The whole task is given up, whatever was looked at before.
_GIVEN_UP = re.compile(
    rf"{_LEAD}(?:"
    r"(?:i|we) (?:have )?(?:failed|give up|gave up|given up|refuse|decline)\b"
    rf"|(?:i|we) {_UNABLE} {_FINISH}|(?:i|we) will not {_FINISH}|(?:failed|unable) to {_FINISH}"
    r"|(?:the|this) (?:task|step|request) (?:has )?(?:failed|cannot be|could not be|was not)\b"
    r")"
)
# Something could not be done; after a look, `could not find` is what a search may bring.
_NOT_ABLE = re.compile(
    rf"{_LEAD}(?:"
    rf"(?:i|we) {_UNABLE}\b|(?:i|we) have no (?:access|way|tools?|permission)\b"
    r"|(?:i|we) (?:do|did) not have (?:access|permission|the (?:tools?|ability|means|rights?))\b"
    r"|(?:i|we) did not manage to\b|(?:unable|not able) to\b|cannot\b|could not\b|failed to\b"
    r"|(?:it|this) (?:is|was) (?:not possible|impossible) to\b|there (?:is|was) no way (?:for me )?to\b"
    r")"
)
_SEARCHED = re.compile(r"\b(?:find|see|locate|identify|detect|spot|determine|discover|match|tell|think of)\b")
_NOTHING = re.compile(
    r"\bthere (?:is|are|was|were) (?:no|none|nothing|not any)\b"
    r"|\b(?:found|find|shows?|has|have|contains?|lists?|had) (?:no|none|nothing|zero|0)\b"
    r"|\b(?:did|do|does|could) not (?:find|have|contain|match|list|exist)\b"
    r"|\bnone (?:of|is|are|was|were|match\w*|qualif\w*|needs?|needed)\b|^none\b"
    r"|\bnothing (?:to|was|is|needs?|needed|match\w*|qualif\w*)\b"
    r"|^no (?:\w+ ){1,5}(?:found|match\w*|exists?|needed|necessary|required|is|are|was|were|qualif\w*)\b"
    r"|\b(?:0|zero) \w+ (?:found|match\w*|are|were)\b"
)
_NEGATED = re.compile(r"\b(?:no|not|none|nothing|never|without|neither|nor|cannot)\b")
_DEED = (
    r"(?:created|sent|posted|written|wrote|saved|stored|updated|deleted|removed|added|paid|booked|scheduled"
    r"|published|uploaded|submitted|filed|drafted|made|recorded|noted|logged|opened|closed|cancell?ed|renamed"
    r"|moved|remembered|forwarded|replied|notified|emailed|mailed|ordered|transferred|invited|inserted"
    r"|appended|archived|refunded|approved|finished|completed|done|taken care of|handled|informed|set up)\b"
)
_OWN_CLAIM = re.compile(
    rf"\b(?:i|we)(?: have| had)?(?: just| now| already| also| successfully| then)* {_DEED}"
)
_CLAIM = re.compile(rf"\b{_DEED}|\ball set\b|✅")


def given_up(text: str) -> bool:
    """Say whether a text gives its whole task up: "I failed", "I am unable to complete this"."""
    return any(_GIVEN_UP.search(sentence) for sentence in _sentences(text))


def not_able(text: str) -> bool:
    """Say whether the first or the last sentence of a text says that something could not be done."""
    sentences = _sentences(text)
    return any(_NOT_ABLE.search(sentence) for sentence in (*sentences[:1], *sentences[-1:]))


def searched_in_vain(text: str) -> bool:
    """Say whether all that could not be done, by a text, is to find something."""
    unable = [sentence for sentence in _sentences(text) if _NOT_ABLE.search(sentence)]
    return bool(unable) and all(_SEARCHED.search(sentence) for sentence in unable)


def nothing_to_do(text: str) -> bool:
    """Say whether a text says that there was nothing to act on, and claims no deed beside it."""
    return any(_NOTHING.search(sentence) for sentence in _sentences(text)) and not claims(text)


def claims(text: str) -> bool:
    """Say whether a text claims that something was done, by whomever."""
    return any(_CLAIM.search(part) and not _NEGATED.search(part) for part in _sentences(text))


def claims_own(text: str) -> bool:
    """Say whether its writer claims to have done something: "I have sent it"."""
    return any(_OWN_CLAIM.search(part) and not _NEGATED.search(part) for part in _sentences(text))


def _sentences(text: str) -> list[str]:
    plain = text.lower()
    for short, full in _SHORT_FORMS:
        plain = plain.replace(short, full)
    return [text for part in _SENTENCE.split(plain) if (text := part.strip(" \t*_-–—>\"'#"))]
