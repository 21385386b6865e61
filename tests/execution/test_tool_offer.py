"""Which tools a loop is offered, and how it finds others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
from langchain_core.messages import AIMessage
from pydantic import Field

from planwright.capabilities.builtin.places import data_checks
from planwright.capabilities.declaration import capability
from planwright.capabilities.registry import TOOL_SEARCH, Registry, load_registry
from planwright.domain.errors import SetupError
from planwright.domain.run_context import RunContext
from planwright.execution.tool_offer import MOST_NAMED, ToolOffer, added_tools, answer_searches, only_asks
from planwright.planning.catalogue import catalogue_scope
from planwright.settings.profile import in_force
from planwright.settings.settings import load
from planwright.settings.workspace import ToolSettings
from planwright.state.loop_state import ToolCall


@pytest.mark.parametrize(
    "request_",
    [
        "What's the weather?",
        "Tell me what the page says",
        "Can you please show me notes.md?",
        "Find the invoice, then look at the calendar",
        "List the markdown files in notes",
        "Is the printer broken, and who has seen it?",
        "Do we have a letter from Hartmann?",
        "What is in my mailbox?",
        "Why is it not there?",
    ],
)
def test_a_question_and_a_look_only_ask(request_: str) -> None:
    assert only_asks(request_)


@pytest.mark.parametrize(
    "request_",
    [
        "Tell the team that lunch is ready",
        "Read the mail, then ring the bell",
        "Summarize the mail from Acme and post it",
        "Could you write hello to a.txt?",
        "Kannst du eine Datei schreiben?",
        "Do the weekly cleanup",
        "Please do the usual",
        "Check me in for the flight",
        "Have Mara's ticket escalated",
        "Summarize roadmap.md into summary.md",
        "What about sending it to Mara?",
        "Why not?",
        "What keeps you from closing the ticket?",
        "Yes, do it",
        "Please do",
        "Do so",
        "Is fine",
        "Yes",
        "Go ahead",
        "Have a go",
        "",
    ],
)
def test_any_other_request_may_act(request_: str) -> None:
    assert not only_asks(request_)


SEARCHES = (TOOL_SEARCH,)


def named(count: int, word: str = "parcel") -> Registry:
    made = []
    for number in range(count):

        def function(text: Annotated[str, Field(description="what is on it")]) -> str:
            return text

        function.__doc__ = f"Read {word} {'abcdefgh'[number % 8]} of the store."
        made.append(capability(f"store.v{number:03}", mode="read_only")(function))
    return Registry(made)


def test_all_tools_are_offered_while_they_fit_in_the_same_order_for_every_request() -> None:
    offer, registry = ToolOffer(ToolSettings()), named(20)
    assert offer.of(registry, "anything", 128_000) == list(registry.names)
    assert offer.of(registry, "v007", 128_000) == list(registry.names)


def test_beyond_the_budget_the_best_are_offered_and_a_search_for_the_others() -> None:
    offer, registry = ToolOffer(ToolSettings(token_budget=300)), named(200)
    names = offer.of(registry, "look into v123", 128_000)
    assert names[-1] == TOOL_SEARCH
    assert "store.v123" in names
    assert 2 < len(names) < 20


def test_a_model_that_reads_little_is_offered_less() -> None:
    offer, registry = ToolOffer(ToolSettings()), named(100)
    assert TOOL_SEARCH not in offer.of(registry, "x", 128_000)
    assert TOOL_SEARCH in offer.of(registry, "x", 4_000)


def test_what_a_user_has_added_comes_before_what_is_built_in(tmp_path: Path) -> None:
    def tool(number: int) -> None:
        """Look after a thing of our own, which nobody names in a request that is about mail and tickets."""

    own = [capability(f"own.tool_{number}")(tool) for number in range(27)]
    registry = Registry([*load_registry(tmp_path), *own])
    request = "Send a mail about the ticket and write it to a file"
    names = {one.name for one in own}
    offered = ToolOffer(ToolSettings(token_budget=3_000)).of(registry, request, 1_000_000)
    assert names < {*offered}
    assert {"mail.send", TOOL_SEARCH} < {*offered}
    few = ToolOffer(ToolSettings(token_budget=1_000)).of(registry, request, 1_000_000)
    assert {*few} - names == {"datetime.now", "memory.search", TOOL_SEARCH}


def test_top_k_offers_so_many_and_a_search_only_where_something_is_left_out() -> None:
    offer = ToolOffer(ToolSettings(filter="top_k", top_k=5))
    assert len(offer.of(named(9), "x", 128_000)) == 6
    assert offer.of(named(9), "x", 128_000)[-1] == TOOL_SEARCH
    assert TOOL_SEARCH not in offer.of(named(5), "x", 128_000)


def test_a_question_is_not_offered_what_only_changes_something_nor_by_a_search(
    tmp_path: Path,
) -> None:
    registry = load_registry(tmp_path)
    assert "files.write" in added_tools(SEARCHES, ["files.write"], registry, "Write it down")
    names = ["files.write", "respond", "results.read", "no.such"]
    assert added_tools(SEARCHES, names, registry, "What is it?") == ()
    assert added_tools((), ["files.read"], registry, "Write it down") == ()
    assert "files.write" not in ToolOffer(ToolSettings()).of(registry, "What is it?", 128_000)


def test_a_question_is_offered_what_does_not_say_what_it_does() -> None:
    def get_weather(city: str) -> str:
        """Say what the weather is in a city."""
        return city

    registry = Registry([capability("get_weather")(get_weather)])
    assert ToolOffer(ToolSettings()).of(registry, "What is the weather in Rome?", 128_000) == ["get_weather"]


@pytest.mark.parametrize(
    ("name", "set_up"),
    [
        ("mail.search", "mkdir mail"),
        ("mail.draft", '[sources]\nmail = "box"'),
        ("mail.send", '[mail]\nhost = "smtp.example"\nfrom = "ada@here.example"'),
        ("calendar.list", "mkdir calendar"),
        ("tickets.create", '[sources]\ntickets = "tickets.db"'),
        ("tickets.list", "mkdir tickets.db"),
        ("channel.post", '[channels.team]\nurl = "https://hooks.example/x"'),
    ],
)
def test_no_model_is_told_of_what_the_workspace_has_no_data_for(
    name: str, set_up: str, tmp_path: Path
) -> None:
    def told() -> bool:
        settings = load(tmp_path)
        registry = load_registry(tmp_path, has_data=data_checks(settings))
        offered = name in ToolOffer(settings.tools).of(registry, "Send it, or search it", 128_000)
        assert offered == (name in [tool.name for tool in catalogue_scope(registry, registry.names)])
        assert name in registry  # a person and a plan can still call it
        return offered

    assert not told()
    if set_up.startswith("mkdir "):
        (tmp_path / set_up.removeprefix("mkdir ")).mkdir()
    else:
        (tmp_path / "planwright.toml").write_text(set_up, "utf-8")
    assert told()


def test_a_tool_that_an_agent_names_is_told_of_without_data(tmp_path: Path) -> None:
    (tmp_path / "planwright.toml").write_text(
        '[agents.clerk]\ndescription = "d"\ntools = ["mail.search", "tickets.*"]\n', "utf-8"
    )
    settings = load(tmp_path)
    registry = load_registry(tmp_path, has_data=data_checks(settings))
    allowed = registry.within(in_force(settings, RunContext(agent="clerk")))
    told = [tool.name for tool in catalogue_scope(allowed, allowed.names)]
    assert "mail.search" in told
    assert "tickets.list" not in told  # a pattern names none
    assert allowed["mail.search"].digest == registry["mail.search"].digest


def searching(*queries: str) -> AIMessage:
    calls = [{"name": "tools__search", "args": {"query": query}, "id": query} for query in queries]
    return AIMessage("", tool_calls=calls)


def test_a_search_is_answered_with_lines_of_tools_that_were_not_offered() -> None:
    registry, granted = named(40), (*named(10).names, TOOL_SEARCH)
    call = ToolCall(call_id="c", index=0, name="tools__search", error="there is no tool tools__search")
    other = ToolCall(call_id="d", index=1, name="store__v001")
    calls, added = answer_searches([call, other], searching("v031 parcel", "x"), registry, "x", granted)
    assert added[0] == "store.v031"
    assert len(added) == 8
    assert not set(added) & set(granted)
    assert calls[1] == other
    assert calls[0].error == ""
    assert "\nstore.v031(text: str) -> str: Read parcel h of the store." in calls[0].answer
    (another,), _ = answer_searches([call], searching("v8"), registry, "x", granted)
    assert another.signature != calls[0].signature
    (nothing,), none = answer_searches(
        [call], searching("zebra"), registry, "x", [*registry.names, TOOL_SEARCH]
    )
    assert (nothing.answer, none) == ("zebra:\nno other tool fits these words", [])
    assert answer_searches([call], searching("v031"), registry, "x", named(10).names) == ([call], [])


def others(answer: str) -> list[str]:
    return answer.partition("\nOthers, to search by name: ")[2].split(", ")


def test_a_search_in_words_that_no_tool_has_is_told_the_names_of_all(tmp_path: Path) -> None:
    registry = Registry([*load_registry(tmp_path), *named(40)])
    granted = (*named(10).names, TOOL_SEARCH)
    first = ToolCall(call_id="c", index=0, name="tools__search", error="there is no tool tools__search")
    second = first.model_copy(update={"call_id": "d", "index": 1})
    (call,), added = answer_searches([first], searching("Paket ansehen"), registry, "Zeig es", granted)
    assert added == []
    assert others(call.answer)[:30] == [*named(40).names][10:]
    assert "files.write" in others(call.answer)
    assert {"respond", "clarify", "results.read"}.isdisjoint(others(call.answer))
    calls, added = answer_searches([first, second], searching("Paket", "v031"), registry, "Zeig es", granted)
    assert others(calls[0].answer) == [""]
    assert {*others(calls[1].answer)} & {*named(40).names} == {*named(40).names} - {*granted} - {*added}


def test_a_search_names_no_more_than_may_be_offered(tmp_path: Path) -> None:
    granted = (TOOL_SEARCH,)
    call = ToolCall(call_id="c", index=0, name="tools__search", error="there is no tool tools__search")
    (asked,), _ = answer_searches([call], searching("Paket"), load_registry(tmp_path), "What is it?", granted)
    assert "files.read" in others(asked.answer)
    assert "files.write" not in others(asked.answer)
    (many,), _ = answer_searches([call], searching("zebra"), named(300), "x", granted)
    assert len(others(many.answer)) == MOST_NAMED


def test_no_capability_may_take_the_name_of_the_search() -> None:
    @capability(TOOL_SEARCH, mode="read_only")
    def search(query: str) -> str:
        """Search."""
        return query

    with pytest.raises(SetupError, match=r"tools\.search is taken"):
        Registry([search])
