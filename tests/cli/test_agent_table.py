"""Where the table of an agent stands in a settings file, and what stays when it is replaced."""

from __future__ import annotations

import tomllib

import pytest

from planwright.cli.actions.agent_table import replaced, tables

WRITER = """[agents.writer]  # it writes
tools = [
  "files.*",
  ["nested"],
]
instructions = '''
[agents.reader]
# [planning]

[not.a.table]
# the last line'''
"""
FILES = {
    "alone": ("", WRITER, ""),
    "between others": (
        '[planning]\nmode = "auto"\n\n',
        WRITER,
        "\n# of the next\n[budgets.run]\ntokens = 1\n",
    ),
    "after another agent": ("[agents.reader]\ntools = []\n\n", WRITER, "\n\n"),
    "before one with a longer name": ("", WRITER, "[agents.writers]\ntools = []\n"),
    "with its limits": ("", f"{WRITER}\n# money\n[agents.writer.limits]\ncost = 1\n", "# end\n"),
    "spelled at length": ("", '[ agents . "writer" ]\ntools = []\n', "[ agents.reader ]\ntools = []\n"),
    "without a last line end": ("[planning]\n", "[agents.writer]\ntools = []", ""),
    "with Windows line ends": ("[planning]\r\n", "[agents.writer]\r\ntools = []\r\n", "\r\n# x\r\n"),
    "after a text that looks like it": ("[channels.a]\nurl = '''\n[agents.writer]\n'''\n", WRITER, ""),
    "before tables in a list": ("", WRITER, "[[agents.x]]\na = 1\n"),
}


@pytest.mark.parametrize(("before", "table", "after"), FILES.values(), ids=FILES)
def test_a_table_is_found_from_its_header_to_its_last_value(before: str, table: str, after: str) -> None:
    text = before + table + after
    assert [text[start:end] for start, end in tables(text, "writer")] == [table]


@pytest.mark.parametrize(("before", "table", "after"), FILES.values(), ids=FILES)
def test_what_is_around_a_replaced_table_stays_as_it_is(before: str, table: str, after: str) -> None:
    text = before + table + after
    changed = replaced(text, tables(text, "writer"), "[agents.writer]\ntools = ['new']\n")
    assert changed.startswith(before)
    assert changed.endswith(after)
    assert ("\r\n" in changed) is ("\r\n" in text)
    assert tomllib.loads(changed)["agents"]["writer"] == {"tools": ["new"]}


def test_the_parts_of_an_agent_that_stand_apart_become_one_table() -> None:
    text = "[agents.w]\ntools = []\n# a\n[planning]\n# b\n[agents.w.limits]\ntokens = 1\n# c\n[egress]\n"
    spans = tables(text, "w")
    assert [text[start:end] for start, end in spans] == [
        "[agents.w]\ntools = []\n",
        "[agents.w.limits]\ntokens = 1\n",
    ]
    assert replaced(text, spans, "[agents.w]\n") == "[agents.w]\n# a\n[planning]\n# b\n# c\n[egress]\n"


@pytest.mark.parametrize(
    "text", ["", "[agents]\nwriter = {}\n", "[agents.writers]\n", "[agents.reader]\nwriter = 1\n"]
)
def test_an_agent_without_a_table_of_its_own_has_no_place(text: str) -> None:
    assert tables(text, "writer") == []
