"""Where the values of a call come from: the request, or the result in which they were seen first.

A model that was talked into something calls what the task calls: of 205 such calls 196 had the verb of the
task, and a destination that the user never wrote. The card of a call says so for each of its arguments.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit

from pydantic import JsonValue

from planwright.approvals.cards import SEEN, Card, card_steps
from planwright.domain.errors import RunError
from planwright.domain.plan import AGENT
from planwright.domain.references import has_reference
from planwright.language.first_person import folded, holds, own_words
from planwright.records.history.thread_results import results_before
from planwright.records.stores import Stores
from planwright.state.invocation import Invocation

REQUEST, PASTED, NOWHERE = "your request", "what you pasted", "written for this call"
EARLIER = ", in an earlier run"
MOST = 20_000  # characters of a result that are looked through
LONGEST = 300  # characters of a value that are looked for


@dataclass(frozen=True)
class ReadText:
    """What one call brought, as text."""

    label: str
    """Which call that was, for people."""
    text: str
    """What it brought."""

    @cached_property
    def _folded(self) -> str:
        return folded(" ".join(self.text.split()))

    def has(self, value: str) -> bool:
        """Say whether a value stands in it word for word."""
        return folded(" ".join(value.split())) in self._folded and holds(self.text, value)

    def has_host(self, host: str) -> bool:
        """Say whether a host stands in it: by itself, in an address, or below another name."""
        pattern = rf"(?<![\w-]){re.escape(folded(host))}(?![\w-]|\.\w)"
        return re.search(pattern, self._folded) is not None


async def read_texts(stores: Stores, invocation: Invocation) -> list[ReadText]:
    """Read what the calls of a run have brought, and then those of earlier runs, the oldest first."""
    now = await stores.ledger.settled_steps(invocation.run_id)
    before = await results_before(stores.database, invocation.run_id, invocation.thread_id)
    texts = []
    for result, when in [*((each, "") for each in now), *((each, EARLIER) for each in before)]:
        if result.status == "completed":
            output = "\n".join(_values(result.output))
            with suppress(RunError):  # it is gone: nothing is said of it
                output = await asyncio.to_thread(stores.blobs.get, result.blob) if result.blob else output
            texts.append(ReadText(f"{result.capability} ({result.step_id}{when})", output[:MOST]))
    return texts


async def with_origins(card: Card, invocation: Invocation, stores: Stores) -> Card:
    """Say on the card of a call, or of each call of a reply, where its values come from."""
    calls = card.get("calls")
    several = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    if not any(isinstance(call.get("args"), dict) and call["args"] for call in several or [card]):
        return card
    texts = await read_texts(stores, invocation)
    if several:
        return {**card, "calls": [_with(call, call.get("args"), invocation.words, texts) for call in several]}
    return _with(card, card.get("args"), invocation.words, texts)


async def with_step_origins(card: Card, invocation: Invocation, stores: Stores) -> Card:
    """Say on the card of a plan where the values come from that its calls with an effect have by now.

    A value that is still a reference says so itself.
    """
    known = {str(step["id"]): _known(step) for step in card_steps(card)}
    if not any(known.values()):
        return card
    texts = await read_texts(stores, invocation)
    steps = [_with(step, known[str(step["id"])], invocation.words, texts) for step in card_steps(card)]
    return {**card, "steps": [*steps]}


def _known(step: Card) -> dict[str, JsonValue]:
    """List the arguments of a step that changes something and whose values are known."""
    params, values = step.get("params"), step.get("values")
    if step["effect"] == "pure" or step["capability"] == AGENT or not isinstance(params, dict):
        return {}
    filled = {**params, **values} if isinstance(values, dict) else params
    return {name: value for name, value in filled.items() if not has_reference(value)}


def _with(card: Card, args: JsonValue, request: str, texts: Sequence[ReadText]) -> Card:
    places: dict[str, JsonValue] = {**value_origins(args, request, texts)} if isinstance(args, dict) else {}
    return {**card, "origins": places} if places else card


def value_origins(args: Mapping[str, JsonValue], request: str, texts: Sequence[ReadText]) -> dict[str, str]:
    """Say of each argument that holds a text or a number where its values come from."""
    own, whole = ReadText("", own_words(request)), ReadText("", request)
    places: dict[str, str] = {}
    for name, value in args.items():
        each = dict.fromkeys(_origin(text, own, whole, texts) for text in _values(value) if text.strip())
        if each:
            places[name] = ", ".join(each)
    return places


def _origin(value: str, own: ReadText, request: ReadText, texts: Sequence[ReadText]) -> str:
    labelled = [(own, REQUEST), (request, PASTED), *((text, f"{SEEN} {text.label}") for text in texts)]
    part = value[:LONGEST]
    if origin := next((origin for text, origin in labelled if text.has(part)), ""):
        return origin
    host = _host(part)
    if host and (origin := next((origin for text, origin in labelled if text.has_host(host)), "")):
        return f"{host}: {origin}"
    return NOWHERE


def _host(value: str) -> str:
    """Find the host of an address on the web: the rest of it may be put together; "" for any other text."""
    with suppress(ValueError):
        return urlsplit(value).hostname or "" if "://" in value else ""
    return ""


def _values(value: JsonValue) -> Iterator[str]:
    """Walk the texts and numbers inside a JSON value."""
    if isinstance(value, list):
        for item in value:
            yield from _values(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _values(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
