"""Names of tools as names of capabilities: valid, readable, and each its own."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planwright.extras.mcp.names import SERVER, TOOL, plain_name, plain_names

VALID = re.compile(r"[a-z][a-z0-9_-]*")
ODD = st.text(alphabet="aAbB1_-. /é\u202e", max_size=50) | st.text(max_size=8)


@pytest.mark.parametrize(
    ("given_name", "plain"),
    [
        ("get_current_time", "get_current_time"),
        ("get-sum", "get-sum"),
        ("getFileInfo", "get_file_info"),
        ("readHTTPPage", "read_http_page"),
        ("Get file.info", "get_file_info"),
        ("admin/tools__list_", "admin_tools_list"),
        ("2fa", "x_2fa"),
        ("写", "x"),
    ],
)
def test_a_name_is_spelled_plainly(given_name: str, plain: str) -> None:
    assert plain_name(given_name) == plain


@given(st.sets(ODD, max_size=12), st.sampled_from((SERVER, TOOL)))
def test_no_two_names_become_one(names: set[str], longest: int) -> None:
    found = plain_names(names, longest)
    assert set(found) == names
    assert len(set(found.values())) == len(names)
    for plain in found.values():
        assert VALID.fullmatch(plain)
        assert "__" not in plain
        assert len(plain) <= longest


@given(st.lists(ODD, max_size=8))
def test_the_order_of_names_does_not_matter(names: list[str]) -> None:
    assert plain_names(names, TOOL) == plain_names(reversed(names), TOOL)


def test_a_plain_name_stays_and_its_rivals_are_marked() -> None:
    found = plain_names(["get_info", "getInfo", "Get Info"], TOOL)
    assert found["get_info"] == "get_info"
    assert re.fullmatch(r"get_info_[0-9a-f]{6}", found["getInfo"])
    assert found["getInfo"] != found["Get Info"]
