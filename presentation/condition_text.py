"""The condition of a step in words: `the amount of step 2 is more than 1000`.

Only what has one plain reading is put into words. Any other expression stands as it is written, whole.
"""

from __future__ import annotations

import json
import re

from planwright.domain.references import cel_path
from planwright.presentation.printable import one_line
from planwright.presentation.step_sentence import reference_text

_SIGNS = {
    "==": "is",
    "!=": "is not",
    ">=": "is at least",
    "<=": "is at most",
    ">": "is more than",
    "<": "is less than",
}
_CALLS = {"contains": "contains", "startsWith": "begins with", "endsWith": "ends with"}
_JOINS = {"&&": "and", "||": "or"}
_PATH = r"""steps(?:\.\w+|\["[^"\\]*"\])\.output(?:\.\w+(?!\w|\s*\()|\[\d+\])*"""
_TEXT = r""""[^"\\\n]*"|'[^'\\\n]*'"""
_SIDE = rf"(?:{_PATH}(?:\.size\(\))?|size\({_PATH}\)|{_TEXT}|-?\d+(?:\.\d+)?|true|false|null)(?![\w.])"
_CLAUSE = re.compile(
    rf"(?P<left>{_SIDE})\s*(?P<sign>{'|'.join(_SIGNS)})\s*(?P<right>{_SIDE})"
    rf"|(?P<of>{_PATH})\.(?P<call>{'|'.join(_CALLS)})\(\s*(?P<text>{_TEXT})\s*\)"
    rf"|(?P<no>!?)(?P<flag>{_PATH})(?![\w.(])"
)
_JOIN = re.compile(r"\s*(&&|\|\|)\s*")


def condition_text(source: str) -> str:
    """Say in words when a condition holds, on one line with nothing in it that could act on a terminal."""
    clauses, joins, at = list[str](), set[str](), 0
    while clause := _CLAUSE.match(source, at):
        clauses.append(_clause(clause))
        if clause.end() == len(source) and len(joins) < 2:
            return one_line(f" {''.join(_JOINS[join] for join in joins)} ".join(clauses))
        if (join := _JOIN.match(source, clause.end())) is None:
            break
        joins.add(join[1])
        at = join.end()
    return one_line(f"`{source}`")


def _clause(match: re.Match[str]) -> str:
    if sign := match["sign"]:
        return f"{_side(match['left'])} {_SIGNS[sign]} {_side(match['right'])}"
    if call := match["call"]:
        return f"{_side(match['of'])} {_CALLS[call]} {_side(match['text'])}"
    return f"{_side(match['flag'])} is {'false' if match['no'] else 'true'}"


def _side(text: str) -> str:
    if text[0] in "\"'":
        return json.dumps(text[1:-1], ensure_ascii=False)
    path = text.removesuffix(".size()").removeprefix("size(").removesuffix(")")
    if not path.startswith("steps"):
        return text
    words = reference_text(cel_path(path))
    return words if path == text else f"the size of {words}"
