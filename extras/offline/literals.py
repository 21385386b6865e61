"""Find the words a user wants passed on as they stand, and put them in quotation marks.

`tell the team that we will write to every supplier and then close the books` is one message, not
three commands. What is quoted is never split and never searched for commands.
"""

from __future__ import annotations

import re

from planwright.extras.offline.phrases import is_sentence

_TEAM = r"(?:the |our )?(?:#?team|channel|everyone|colleagues|slack)(?:\s+(?:in|on)\s+(?:the )?(?:#?team|channel|slack))?(?:\s+channel)?"
_END = r"(?=\s+and\s+(?:then\s+)?(?:put|post|send|save|write|create|open|add|log|tell|let)\s+[^.]*\b(?:team|channel|calendar|tickets?|[\w/-]+\.(?:md|txt|csv))\b|,?\s+(?:and also|and then also)\b|,\s+(?:and|then|but)\b|;|[.!?]\s|\s+(?:in|to|on)\s+(?:the |our )?(?:#?team|channel|slack)\b|[.!?]?$)"
_AFTER_COLON = re.compile(
    r"\b(?:tell|announce|post|send|share|remember|memorise|memorize|note|memory|mind|says?|saying|reads?|text|message|e-?mail|mail"
    r"|ticket|team|channel|this|following)\b[^:.\n\"“]{0,40}:\s+(?P<words>[^\"“«`'].*?)(?=[.!?]\s+[A-Z]|[.!?]?$)",
    re.IGNORECASE,
)
_AFTER_THAT = re.compile(
    rf"\b(?:(?:tell|let|inform|notify|remind|update|alert|give)\s+{_TEAM}\s+(?:know\s+|a (?:heads-up|note|message)\s+)?(?:that|saying)"
    r"|(?:remember|memorise|memorize|keep in mind|bear in mind|note|(?:don['’]t|do not|never) forget)\s+that"
    r"|(?:heads-up|message|update|word|announcement|ticket|note)\s+(?:(?:saying|which says|that says|to say)(?:\s+that)?|that)"
    r"|(?:announce|report|say|post)\s+(?:(?:in|to|on)\s+(?:the |our )?(?:#?team|channel|slack)(?:\s+channel)?\s+)?that)"
    rf"\s+(?P<words>.+?){_END}",
    re.IGNORECASE,
)
_AFTER_TEAM = re.compile(
    rf"\b(?:tell|inform|notify|remind)\s+{_TEAM}\s+(?P<words>(?!that\b|about\b|it\b|them\b|what|which\b|how\b|of\b|know\b|:).+?){_END}",
    re.IGNORECASE,
)
_IN_A_MAIL = re.compile(
    rf"\b(?:draft|compose|write)\b[^.\"“]{{0,40}}@[\w.-]+\w[^.\"“]{{0,60}}?\bsaying\s+(?:that\s+)?(?P<words>.+?){_END}",
    re.IGNORECASE,
)


def protect(request: str) -> str:
    """Quote the messages, facts and titles that a request spells out without quotation marks."""
    for pattern in (_AFTER_COLON, _AFTER_THAT, _AFTER_TEAM, _IN_A_MAIL):
        request = pattern.sub(_quote, request)
    return request


def _quote(match: re.Match[str]) -> str:
    words = match["words"].strip()
    statement = is_sentence(words) and len(words.split()) >= 3
    by_colon = match.re is _AFTER_COLON and len(words.split()) >= 3
    if not (statement or by_colon) or re.search(r"[\"“”«»`]", match[0]):
        return match[0]
    start = match.start("words") - match.start()
    return f"{match[0][:start]}“{words}”{match[0][start + len(match['words']) :]}"
