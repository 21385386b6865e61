"""Which tools a loop is offered: all while they fit a budget of tokens, else the best and a search."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain

from langchain_core.messages import AIMessage

from planwright.capabilities.contract import Capability
from planwright.capabilities.registry import ALWAYS, TOOL_SEARCH, Registry
from planwright.domain.plan import CLOSING, WHOLE
from planwright.execution.tool_calls import schemas
from planwright.language.verbs import EFFECTS_IN_A_REQUEST, LOOKS_IN_A_REQUEST, QUESTION_WORDS, TURNED_VERBS
from planwright.models.conversation.call_arguments import wire_name
from planwright.planning.catalogue import catalogue
from planwright.settings.workspace import ToolSettings
from planwright.state.loop_state import ToolCall

MOST_ADDED = 8  # tools that one search adds
MOST_NAMED = 100  # tools that a search names beside those that it adds
CONTEXT_SHARE = 4  # at most a quarter of what a model can read
_POLITE = re.compile(r"^(?:(?:please|hi|hello|hey|ok|so|(?:can|could|would|will) you(?: please)?)\b[\s,]*)+")
_SENTENCE = re.compile(r"(?<=[.;!?])\s")
_CLAUSE = re.compile(r",\s|\band\b|\bthen\b")
_WORD = re.compile(r"[a-z']+")
_TELLS = re.compile(r"\btell (?!me\b|us\b)", re.IGNORECASE)
_ELSEWHERE = re.compile(r"\b(?:into|onto|to|as) \S*\w\.\w|\b(?:what|how) about\b|\bwhy not\b", re.IGNORECASE)
"""A file that something goes to, or a proposal."""


class ToolOffer:
    """Choose the tools of a loop by the settings of a workspace."""

    def __init__(self, settings: ToolSettings) -> None:
        self._settings = settings
        self._sizes: dict[str, int] = {}

    def of(self, allowed: Registry, request: str, context: int) -> list[str]:
        """Name the tools that a request is offered by a model of so many tokens of context.

        `tools.search` is the last of them where any had to be left out. A question is offered nothing that
        is declared to change something by each call.
        """
        fits = offerable(request)
        if self._settings.filter == "top_k":
            chosen = allowed.rank(request, self._settings.top_k, fits)
            left_out = any(tool.name not in chosen and fits(tool) for tool in allowed)
            return [*chosen, *([TOOL_SEARCH] if left_out else [])]
        return self._fitting(
            allowed, request, fits, min(self._settings.token_budget, context // CONTEXT_SHARE)
        )

    def _fitting(
        self, allowed: Registry, request: str, fits: Callable[[Capability], bool], budget: int
    ) -> list[str]:
        """Take the best until the budget is used up; in the order of names, so that the same are the same.

        What somebody has added to a workspace comes before what is built in.
        """
        chosen: dict[str, None] = {}
        best = [*allowed.matches(request), *allowed.names]
        own = (name for name in best if not allowed[name].built_in)
        ours = (name for name in best if allowed[name].built_in)
        for name in chain(ALWAYS, own, ours):
            tool = allowed.get(name)
            if name in chosen or tool is None or not fits(tool):
                continue
            budget -= self._size(tool)
            if budget < 0:
                return [*sorted(chosen), TOOL_SEARCH]
            chosen[name] = None
        return sorted(chosen)

    def _size(self, tool: Capability) -> int:
        """Estimate the tokens of a tool: a quarter of its characters, as it is spelled to a model."""
        if tool.name not in self._sizes:
            self._sizes[tool.name] = len(json.dumps(schemas({wire_name(tool.name): tool}))) // 4
        return self._sizes[tool.name]


def offerable(request: str) -> Callable[[Capability], bool]:
    """Say of each capability whether a request may be offered it."""
    asks = only_asks(request)
    apart = {*CLOSING, WHOLE}
    return lambda tool: tool.is_set_up and tool.name not in apart and not (asks and only_changes(tool))


def only_asks(request: str) -> bool:
    """Say whether an English request surely asks and looks up, by its clauses; any other may act."""
    if _TELLS.search(request) or _ELSEWHERE.search(request):
        return False
    heads = [
        (words, sentence.rstrip().endswith("?"))
        for sentence in _SENTENCE.split(request.lower())
        for part in _CLAUSE.split(sentence)
        if (words := _WORD.findall(_POLITE.sub("", part.strip())))
    ]
    return bool(heads) and all(_asks(words, marked) for words, marked in heads)


def _asks(words: Sequence[str], marked: bool) -> bool:
    """Say whether a clause asks or looks up; `marked` in a sentence that ends as a question."""
    stems = [word.removesuffix("ing") for word in words if word.endswith("ing")]
    acts = not EFFECTS_IN_A_REQUEST.isdisjoint([*words, *stems, *(f"{stem}e" for stem in stems)])
    return not acts and (
        words[0] in QUESTION_WORDS | LOOKS_IN_A_REQUEST or (marked and words[0] in TURNED_VERBS)
    )


def only_changes(capability: Capability) -> bool:
    """Say whether each call of a capability is declared to change something; what says nothing may read."""
    return capability.declared and capability.effect != "pure" and capability.varies is None


def search_schema(granted: Sequence[str]) -> list[dict[str, object]]:
    """Describe the search for more tools as a tool, where it is granted."""
    if TOOL_SEARCH not in granted:
        return []
    query = {"type": "string", "description": "what it should do, in a few words"}
    parameters = {"type": "object", "properties": {"query": query}, "required": ["query"]}
    words = "Find more tools; they can be called from your next reply on."
    function = {"name": wire_name(TOOL_SEARCH), "description": words, "parameters": parameters}
    return [{"type": "function", "function": function}]


def added_tools(
    granted: Sequence[str], names: Iterable[str], allowed: Registry, request: str
) -> tuple[str, ...]:
    """Keep of the names that a state holds those of tools that the request may be offered by a search."""
    if TOOL_SEARCH not in granted:
        return ()
    fits = offerable(request)
    return tuple(name for name in names if (tool := allowed.get(name)) is not None and fits(tool))


def answer_searches(
    calls: list[ToolCall], reply: AIMessage, allowed: Registry, request: str, granted: Sequence[str]
) -> tuple[list[ToolCall], list[str]]:
    """Answer the searches among the calls of a reply; return the calls, and the names of the tools to add.

    The last one is told the names of what is left: a model may search in words that no tool has.
    """
    answered, added, last = list[ToolCall](), list[str](), -1
    for call in calls:
        if call.name != wire_name(TOOL_SEARCH) or TOOL_SEARCH not in granted:
            answered.append(call)
            continue
        query = str(reply.tool_calls[call.index]["args"].get("query", ""))
        fitting = added_tools(granted, allowed.matches(query), allowed, request)
        more = [name for name in fitting if name not in granted][:MOST_ADDED]
        added += [name for name in more if name not in added]
        text = catalogue([allowed[name] for name in more]) if more else "no other tool fits these words"
        last = len(answered)
        answered.append(call.model_copy(update={"error": "", "answer": f"{query}:\n{text}"}))
    if last >= 0 and (names := _left(allowed, request, {*granted, *added})):
        answer = f"{answered[last].answer}\nOthers, to search by name: {', '.join(names)}"
        answered[last] = answered[last].model_copy(update={"answer": answer})
    return answered, added


def _left(allowed: Registry, request: str, had: Collection[str]) -> list[str]:
    """Name the tools that a request may be offered and was not, those first that are not built in."""
    fits = offerable(request)
    left = (tool for tool in allowed if fits(tool) and tool.name not in had)
    return [tool.name for tool in sorted(left, key=lambda tool: tool.built_in)][:MOST_NAMED]
