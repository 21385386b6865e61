"""What a model wrote as JSON is read within limits."""

from __future__ import annotations

import pytest

from planwright.domain.errors import ModelOutputInvalid
from planwright.models.json_reply import read_json


def test_a_reply_of_too_many_lists_is_not_read() -> None:
    with pytest.raises(ModelOutputInvalid, match="more than 10,000 lists and objects"):
        read_json('{"steps": [' + "[]," * 10_000 + "[]]}")
    assert len(read_json('{"steps": [' + "[]," * 9000 + "[]]}")[0]["steps"]) == 9001
