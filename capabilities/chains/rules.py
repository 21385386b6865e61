"""What a chain has to keep to before it is made: its name, its calls, and what they refer to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel, JsonValue

from planwright.capabilities.arguments import misfits
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.policy import decide as policy
from planwright.capabilities.registry import Registry
from planwright.checkpoints.serde import storable
from planwright.domain.chain import CREATE_CHAIN, Chain, ChainCall
from planwright.domain.errors import CapabilityRejected
from planwright.domain.plan import AGENT, CLOSING, DELEGATE
from planwright.domain.references import braced, has_reference, reference_paths

LARGEST = 100_000  # characters of one definition
MOST_INPUTS = 50
RESERVED = frozenset(
    (AGENT, "escalation", "approve_plan", "extend_budget", "main")
)  # what gates and lanes are shown as
NO_PARTS = frozenset((*CLOSING, DELEGATE, CREATE_CHAIN))
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,31}")
_INPUT = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_PART = r"(?:\.[\w-]+|\[[0-9]+\])"
_REFERENCE = re.compile(
    rf"\{{\{{\s*(?:input\.\w+{_PART}*|previous_result{_PART}*|steps\.[\w-]+\.output{_PART}*)\s*\}}\}}"
)
FORMS = "{{input.<name>}}, {{previous_result.<field>}} or {{steps.<number or id>.output.<field>}}"


def name_flaws(chain: Chain, everything: Registry) -> Iterator[str]:
    """Find what is wrong with a chain's name. Those of capabilities have a dot; no chain can pass for one."""
    name = chain.name
    if not _NAME.fullmatch(name) or "__" in name or name in RESERVED:
        yield f"{name!a} cannot be its name: write a word like research_and_save, without dots"
        return
    known = everything.get(name)
    if everything.withholds(name) or (known and known.chain is None):
        yield f"{name} is a capability already"
    elif known and known.chain and known.chain.hash != chain.hash:
        yield f"this run has a chain {name} already, with another definition"


def part_flaws(position: int, call: ChainCall, name: str, tools: Registry, everything: Registry) -> str:
    """Say why a chain cannot make a call; empty when it can."""
    wanted, where = call.capability, f"step {position}"
    if wanted == name:
        return f"{where} would call the chain itself"
    capability = tools.get(wanted)
    if capability is None:
        near = ", ".join(tools.near(wanted)) or "none like it"
        why = "may not be used here" if wanted in everything or tools.withholds(wanted) else "does not exist"
        return f"{where}: {wanted} {why} (nearest: {near})"
    if capability.chain is not None:
        return f"{where}: {wanted} is a chain itself; put its steps here instead"
    return f"{where}: {wanted} cannot be a part of a chain" if wanted in NO_PARTS else ""


def call_flaws(
    position: int, chain: Chain, parts: Sequence[Capability], call_context: CallContext
) -> Iterator[str]:
    """Find what is wrong with the arguments of one call: references, schema, preflight and policy."""
    call, part = chain.calls[position - 1], parts[position - 1]
    flaws = [*_brace_flaws(call.arguments)]
    flaws += [] if flaws else _reference_flaws(position, chain, parts)
    flaws += misfits(part, call.arguments)
    if not flaws:
        waiting = has_reference(call.arguments)
        try:
            if not waiting:
                part.check(call.arguments, call_context)
            ruling = policy.decide(part, call.arguments, call_context, references=waiting)
            flaws += [f"the policy denies {part.name}: {ruling.why}"] if ruling.answer == "deny" else []
        except CapabilityRejected as error:
            flaws += [] if waiting else [error.cause]
    yield from (f"step {position}: {flaw}" for flaw in flaws)


def id_flaws(calls: Sequence[ChainCall]) -> Iterator[str]:
    """Find ids that are taken twice, or that look like the number of another step."""
    seen: set[str] = set()
    for position, call in enumerate(calls, 1):
        if call.id in seen:
            yield f"step {position}: the id {call.id!a} is taken"
        if call.id != str(position) and not _ID.fullmatch(call.id):
            yield f"step {position}: {call.id!a} is no id: write a short word"
        seen.add(call.id)


def input_flaws(used: Mapping[str, object], declared: Mapping[str, object] | None) -> Iterator[str]:
    """Find arguments of a chain that cannot be: by name, by number, or not those its calls refer to."""
    for name in {**used, **(declared or {})}:
        if not _INPUT.fullmatch(name) or name.startswith("model_") or hasattr(BaseModel, name):
            yield f"an input cannot be called {name!a}"
    if len(used) > MOST_INPUTS:
        yield f"it has {len(used)} inputs, {MOST_INPUTS} are allowed"
    if declared is not None and declared.keys() != used.keys():
        names, refers = ", ".join(sorted(declared)) or "none", ", ".join(sorted(used)) or "none"
        yield f"input_schema names {names}, and its steps refer to {refers}"


def size_flaws(chain: Chain) -> Iterator[str]:
    """Find what cannot be stored, or is too long to be kept and shown."""
    content = chain.model_dump(mode="json")
    try:
        storable(content)
        length = len(json.dumps(content, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        yield f"it holds what cannot be stored: {error}"
        return
    if length > LARGEST:
        yield f"it is {length:,} characters long, {LARGEST:,} are allowed"


def _brace_flaws(value: JsonValue) -> Iterator[str]:
    for text in (*braced(value), *_keys_with_braces(value)):
        if not _REFERENCE.fullmatch(text):
            yield f"{text[:80]!a} is no reference: write {FORMS}"


def _keys_with_braces(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (f"the key {key}" for key in value if "{{" in key)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in inner:
        yield from _keys_with_braces(item)


def _reference_flaws(position: int, chain: Chain, parts: Sequence[Capability]) -> Iterator[str]:
    """Find references to what does not come before, or to a field that its producer does not return."""
    named = {str(n): n - 1 for n in range(1, len(chain.calls) + 1)}
    named |= {call.id: n for n, call in enumerate(chain.calls)}
    for path in reference_paths(chain.calls[position - 1].arguments):
        if path[0] == "input":
            continue
        if path[0] == "previous_result":
            source, rest = position - 2, path[1:]
        else:
            source, rest = named.get(path[1], -1), path[3:]
        if not 0 <= source < position - 1:
            yield f"{{{{{'.'.join(path)}}}}} refers to a step that does not come before it"
            continue
        fields = parts[source].result_schema.get("properties")
        if rest and fields and rest[0] not in fields:
            yield f"{parts[source].name} returns no {rest[0]!r}; it returns: {', '.join(fields)}"
