"""The registry: by name, by likeness, by rank."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.capabilities.registry import Registry, load_registry, words
from planwright.domain.errors import SetupError

BUILT_IN = (
    "agent.delegate calendar.list channel.post clarify datetime.now documents.create files.list files.read"
    " files.read_all"
    " files.restore files.search files.write http.request mail.draft mail.search mail.send memory.forget"
    " memory.search memory.write respond results.read sql.execute sql.query text.extract text.summarize"
    " tickets.close tickets.create tickets.list tool.create_chain"
).split()


def declare(name: str, description: str = "Do something.", tags: tuple[str, ...] = ()) -> Capability:
    def act() -> str:
        return ""

    act.__doc__ = description
    return capability(name, mode="read_only", tags=tags)(act)


@pytest.fixture(scope="module")
def built_in(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    return load_registry(tmp_path_factory.mktemp("workspace"))


@pytest.fixture(scope="module")
def large() -> Registry:
    """5,000 capabilities in 50 domains, and the two that are always shown."""
    one = declare("a.b")
    made = [
        replace(
            one,
            name=f"domain{n % 50}.verb{n}",
            description=f"Handle the thing{n} of area{n % 50}.",
            tags=(f"tag{n}", f"area{n % 50}"),
        )
        for n in range(5000)
    ]
    return Registry([*made, declare("datetime.now"), declare("memory.search")])


@pytest.fixture
def module() -> Iterator[str]:
    """A name for a module in the workspace, forgotten after the test."""
    name = "my_capabilities_of_this_test"
    yield name
    sys.modules.pop(name, None)


def test_a_name_that_is_not_there_is_refused_with_the_nearest_and_the_server_it_is_of() -> None:
    registry = Registry([declare("a.b")], absent={"notes": "My notes"}).beside([declare("a.d")])
    assert registry.require("a.b").name == "a.b"
    with pytest.raises(SetupError, match=r"there is no capability a\.c") as refused:
        registry.require("a.c")
    assert refused.value.next_step == "nearest: a.b, a.d; all: planwright capabilities"
    with pytest.raises(SetupError, match="is of the MCP server `My notes`, which is not there"):
        registry.require("notes.read")
    assert (registry.absent_server("notes.*"), registry.absent_server("notes")) == ("My notes", "")


def test_the_built_in_capabilities_are_there(built_in: Registry) -> None:
    assert [found.name for found in built_in] == BUILT_IN
    assert len(built_in) == len(BUILT_IN)


@pytest.mark.parametrize(
    ("names", "mode", "risk", "effect"),
    [
        (
            "datetime.now memory.search files.list files.read files.search mail.search",
            "read_only",
            "None",
            "pure",
        ),
        ("tickets.list text.extract text.summarize respond clarify", "read_only", "None", "pure"),
        ("calendar.list sql.query", "read_only", "None", "pure"),
        ("mail.draft", "local_write", "Low", "idempotent"),
        ("memory.write files.write documents.create tickets.create", "local_write", "Medium", "idempotent"),
        ("files.restore tickets.close", "local_write", "Medium", "idempotent"),
        ("memory.forget", "local_write", "High", "idempotent"),
        ("channel.post", "network", "Medium", "idempotent"),
        ("http.request", "network", "High", "blind"),
        ("mail.send", "network", "High", "blind"),
        ("sql.execute", "destructive", "High", "blind"),
    ],
)
def test_the_built_in_capabilities_declare_what_the_spec_says(
    built_in: Registry, names: str, mode: str, risk: str, effect: str
) -> None:
    for name in names.split():
        found = built_in.get(name)
        assert found is not None
        assert (found.mode, found.risk, found.effect, found.declared) == (mode, risk, effect, True)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("mail.serach", "mail.search"),
        ("email.search", "mail.search"),
        ("ticket.create", "tickets.create"),
        ("create_ticket", "tickets.create"),
        ("read_file", "files.read"),
        ("search_mail", "mail.search"),
        ("channel.send", "channel.post"),
        ("file.read", "files.read"),
        ("summarize", "text.summarize"),
    ],
)
def test_the_nearest_names_are_suggested(built_in: Registry, typed: str, meant: str) -> None:
    assert meant in built_in.near(typed)
    assert len(built_in.near(typed)) <= 3


@pytest.mark.parametrize("typed", ["zzzzqqqq", "", "日本"])
def test_nothing_is_suggested_for_what_is_near_to_nothing(built_in: Registry, typed: str) -> None:
    assert built_in.near(typed) == ()


def test_a_name_is_found_exactly_or_not_at_all(built_in: Registry) -> None:
    assert built_in.get("mail.search") is not None
    assert built_in.get("mail.Search") is None
    assert built_in.get("") is None
    assert "mail.search" in built_in
    assert "mail" not in built_in


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Search my emails for the invoice", "mail.search"),
        ("Which of the customers wrote to me?", "mail.search"),
        ("create a ticket", "tickets.create"),
        ("post it to the team channel", "channel.post"),
        ("Summarize the roadmap", "text.summarize"),
    ],
)
def test_the_best_fit_comes_first(built_in: Registry, text: str, first: str) -> None:
    assert built_in.rank(text, 10)[0] == first


@pytest.mark.parametrize("limit", [1, 2, 3, 10, 100])
def test_a_ranking_keeps_its_limit_and_always_has_the_clock_and_the_memory(
    built_in: Registry, limit: int
) -> None:
    ranked = built_in.rank("Search my emails for the invoice", limit)
    assert len(ranked) == min(max(limit, 2), len(built_in) - 1)  # results.read comes by itself
    assert ranked[-2:] == ["datetime.now", "memory.search"]
    assert len(set(ranked)) == len(ranked)


def test_of_5_000_capabilities_the_ten_best_are_found(large: Registry) -> None:
    ranked = large.rank("please handle thing4321 with tag4321 and tag77", 10)
    assert ranked[:2] == ["domain21.verb4321", "domain27.verb77"]
    assert len(ranked) == 10


def test_a_tag_counts_more_than_a_word_of_the_description_and_ties_go_by_name(large: Registry) -> None:
    ranked = large.rank("thing8 tag9 tag7 thing5", 10)
    assert ranked[:4] == ["domain7.verb7", "domain9.verb9", "domain5.verb5", "domain8.verb8"]


def test_a_text_that_fits_nothing_is_still_answered(large: Registry) -> None:
    assert len(large.rank("???", 10)) == 10


def test_words_are_compared_without_case_and_plural() -> None:
    assert words("Tickets, TICKET; is it us? e-mails") == {"ticket", "is", "it", "us", "e", "mail"}


def test_two_capabilities_of_one_name_are_refused() -> None:
    with pytest.raises(SetupError, match=r"two capabilities are named a\.b"):
        Registry([declare("a.b"), declare("a.b")])


def test_a_prohibited_capability_is_not_there() -> None:
    registry = Registry([declare("a.b"), declare("a.c")], prohibit=["a.b"])
    assert registry.get("a.b") is None
    assert registry.rank("do something", 10) == ["a.c"]
    assert registry.near("a.b") == ("a.c",)


def test_a_glob_prohibits_all_that_it_names_and_no_last_word() -> None:
    names = ["a.b", "a.c", "ab", "respond", "b.c"]
    assert Registry(map(declare, names), prohibit=["a.*"]).names == ["ab", "b.c", "respond"]
    assert Registry(map(declare, names), prohibit=["*"]).names == ["respond"]
    assert Registry(map(declare, names), prohibit=["respond", "A.*"]).names == ["ab", "b.c"]


@pytest.mark.parametrize("entry", ["tikets.create", "tikets.*", "Ticket.*"])
def test_an_entry_that_prohibits_nothing_is_refused(tmp_path: Path, entry: str) -> None:
    with pytest.raises(SetupError, match="so it prohibits nothing") as refused:
        load_registry(tmp_path, prohibit=["files.write", entry])
    assert f"{tmp_path / 'planwright.toml'}: `capabilities.prohibit`" in refused.value.cause
    assert "tickets.create" in refused.value.next_step


@pytest.mark.parametrize("entry", ["jira.create", "jira.*", "*.create_issue"])
def test_an_entry_about_a_server_that_is_not_there_may_prohibit_nothing(tmp_path: Path, entry: str) -> None:
    registry = load_registry(tmp_path, prohibit=[entry], absent={"jira": "jira"})
    assert registry.prohibits("jira.create_issue") is (entry != "jira.create")


def test_the_hash_covers_what_is_declared_and_not_the_order() -> None:
    one, two = declare("a.b"), declare("a.c")
    assert Registry([one, two]).hash == Registry([two, one]).hash
    assert Registry([one]).hash != Registry([one, two]).hash
    assert Registry([one]).hash != Registry([declare("a.b", "Do something else.")]).hash


def test_a_module_of_the_workspace_joins(tmp_path: Path, module: str) -> None:
    (tmp_path / f"{module}.py").write_text(
        "from planwright.capabilities import capability\n"
        "@capability('mine.do', mode='read_only')\n"
        "def do() -> str:\n"
        "    'Do it.'\n"
        "    return ''\n"
    )
    assert "mine.do" in load_registry(tmp_path, [module])


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (None, "cannot import"),
        ("x = 1\n", "declares no capability"),
        ("import a_package_nobody_has\n", "a_package_nobody_has"),
        ("def broken(:\n", "cannot import"),
        ("1 / 0\n", "cannot import"),
    ],
    ids=["missing", "empty", "lacks a package", "no Python", "raises"],
)
def test_a_module_that_cannot_be_used_is_a_setup_error(
    tmp_path: Path, module: str, source: str | None, said: str
) -> None:
    if source is not None:
        (tmp_path / f"{module}.py").write_text(source)
    with pytest.raises(SetupError, match=said) as refused:
        load_registry(tmp_path, [module])
    assert module in refused.value.cause
    assert refused.value.next_step
    broken = source in ("def broken(:\n", "1 / 0\n", "import a_package_nobody_has\n")
    assert (f"mend {tmp_path / module}.py:1" in refused.value.next_step) == broken
