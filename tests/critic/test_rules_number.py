"""The rules of the critic have a number: it goes up when their code changes, and not for a comment."""

from __future__ import annotations

import ast
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from planwright.critic import verdict_inputs
from planwright.critic.verdict_inputs import RULES

ROOT = Path(verdict_inputs.__file__).parents[1]
PARTS = "criteria evaluators facts verdict_inputs lane_rules ruling tasks words".split()
FILES = [*(f"critic/{name}.py" for name in PARTS), "language/verbs.py"]
CODE = {"1": "2c367238ae2b06f6"}
"""What the code of each number hashes to. Another one: raise RULES where verdicts change, and add a row."""


def code_of(source: str) -> str:
    """Write a file without comments, docstrings and layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [  # type: ignore[attr-defined]
                line
                for line in body
                if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
            ]
    return ast.dump(tree)


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="another release writes a tree otherwise")
def test_the_number_is_that_of_the_code() -> None:
    sources = [(ROOT / name).read_text("utf-8") for name in FILES]
    assert sha256("".join(map(code_of, sources)).encode()).hexdigest()[:16] == CODE[RULES]


def test_a_comment_is_no_rule() -> None:
    assert code_of('x = 1  # one\n"""What x is."""') == code_of("x = 1")
    assert code_of("x = 1") != code_of("x = 2")
