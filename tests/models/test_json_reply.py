"""What a model wrote as JSON is read within limits."""

from __future__ import annotations

import pytest

from planwright.domain.errors import ModelOutputInvalid
from planwright.models.json_reply import read_json


def test_a_reply_of_too_many_lists_is_not_read() -> None:
    with pytest.raises(ModelOutputInvalid, match="more than 10,000 lists and objects"):
        read_json('{"steps": [' + "[]," * 10_000 + "[]]}")
    assert len(read_json('{"steps": [' + "[]," * 9000 + "[]]}")[0]["steps"]) == 9001


@pytest.mark.parametrize("levels", [201, 900, 9_000])
def test_a_reply_of_too_many_levels_is_not_read_whatever_the_parser_takes(levels: int) -> None:
    with pytest.raises(ModelOutputInvalid, match="nested too deeply"):
        read_json('{"steps": ' + "[" * (levels - 1) + "]" * (levels - 1) + "}")


def test_only_what_is_nested_counts_as_a_level() -> None:
    text = r'"\"[[{' + "[" * 300 + '"'
    reply, _ = read_json('{"steps": ' + "[" * 199 + f"{text}, {text}" + "]" * 199 + ', "more": [[], [], []]}')
    assert reply["more"] == [[], [], []]
