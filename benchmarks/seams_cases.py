"""The cases of the sweep over the seams: each argument of each capability, by what fills it, in each way.

All is read off the registry. A built-in capability that is new is played by its schema; what its arguments
have to be like beyond that stands in `BASE` and `LEAVES`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import JsonValue

from planwright.capabilities.contract import Capability
from planwright.capabilities.registry import Registry

Kind = Literal["literal", "others", "model", "file"]
KINDS: tuple[Kind, ...] = ("literal", "others", "model", "file")
"""What fills an argument: the user or the plan, a text of others, one of a model, what a file holds."""
WAYS = (
    *("plan", "background", "planned chain", "agent step", "alternative", "undo"),
    *("loop", "chain", "sub-agent"),
)
LEFT_OUT = {
    "agent.delegate": "opens a lane whose calls are played as sub-agent",
    "tool.create_chain": "makes a chain whose calls are played as chain",
    "clarify": "asks the user",
    "respond": "answers the user",
    "desk.book": "is what the way undo undoes",
    "desk.fail": "is what the way alternative replaces",
    "desk.look": "is what the way alternative replaces",
}
SERVICE = "{service}"
BASE: Mapping[str, dict[str, JsonValue]] = {
    "channel.post": {"text": "Hello all"},
    "documents.create": {"path": "made/base.md", "text": "Hello"},
    "files.write": {"path": "made/base.md", "text": "Hello"},
    "http.request": {"url": f"{SERVICE}/page"},
    "http.request body": {"url": f"{SERVICE}/page", "method": "POST"},
    "http.request headers": {"url": f"{SERVICE}/page", "method": "POST"},
    "http.request data": {"url": f"{SERVICE}/page", "method": "POST"},
    "mail.draft": {"text": "Hello", "to": ["ada@northwind.example"], "subject": "Hello"},
    "mail.send": {"text": "Hello", "to": ["ada@northwind.example"], "subject": "Hello"},
    "memory.forget": {},
    "sql.execute": {"statement": "UPDATE customers SET city = ?", "database": "crm.db", "parameters": ["B"]},
    "sql.execute statement": {"statement": "", "database": "crm.db"},
    "sql.query": {"statement": "SELECT name FROM customers", "database": "crm.db"},
    "sql.query parameters": {"statement": "SELECT name FROM customers WHERE city = ?", "database": "crm.db"},
    "text.extract": {"text": "Total due: 48.50 EUR"},
    "text.summarize": {"text": "One sentence. Another sentence."},
    "desk.post": {"room": "team", "text": "Hello"},
}
"""Arguments beside the one that is played, where the schema alone does not say them."""
LEAVES: Mapping[str, str] = {
    "url": f"{SERVICE}/{{token}}",
    "method": "POST",
    "to": "{token}@northwind.example",
    "cc": "{token}@northwind.example",
    "bcc": "{token}@northwind.example",
    "channel": "team",
    "database": "crm.db",
    "start": "2026-12-01",
    "end": "2026-12-31",
    "timezone": "Europe/Berlin",
    "sql.execute statement": "UPDATE customers SET city = '{token}'",
    "sql.query statement": "SELECT name FROM customers WHERE city = '{token}'",
    "headers": "{token}",
    "amount": "{number}.50",
}
"""Texts that an argument takes, by its name, behind that of its capability where it matters."""
WRITTEN = frozenset(("files.write", "documents.create", "files.restore"))
"""Capabilities whose paths name what they write; every other reads what an argument of the format names."""


@dataclass(frozen=True)
class Case:
    """One argument of one capability, what fills it, and by which way it is called."""

    capability: str
    argument: str
    kind: Kind
    way: str


@dataclass(frozen=True)
class Slot:
    """One argument of a capability: the arguments beside it, and how a text becomes its value."""

    capability: str
    argument: str
    base: Mapping[str, JsonValue]
    leaf: str
    schema: Mapping[str, Any]
    about: str
    """What the capability does, in words."""
    reads: bool
    """Whether a call changes nothing."""
    tells: bool
    """Whether it tells somebody outside what it is given."""

    @property
    def is_path(self) -> bool:
        """Whether it names a file that a call reads."""
        return self.capability not in WRITTEN and _is_path(self.schema)

    def value(self, token: str, service: str) -> JsonValue:
        """Make a value that no other play has, where there is more than one."""
        if (number := _number(self.schema)) is not None:
            return number if number else int(token[1:-1])
        places = {"token": token, "number": token[1:-1], "service": service}
        return self.leaf.format(**places)

    def args(self, value: JsonValue, service: str) -> dict[str, JsonValue]:
        """Put a value, or a reference to one, into the arguments of a call."""
        base = {name: _at(service, inner) for name, inner in self.base.items()}
        return {**base, self.argument: _wrapped(self.schema, value)}


def _at(service: str, value: JsonValue) -> JsonValue:
    return value.replace(SERVICE, service) if isinstance(value, str) else value


def _is_path(schema: Mapping[str, Any]) -> bool:
    inner = [schema.get("items"), *schema.get("anyOf", ())]
    return schema.get("format") == "path" or any(isinstance(one, Mapping) and _is_path(one) for one in inner)


def _first(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Choose of several types the first that is something."""
    options = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    return _first(options[0]) if options else schema


def _number(schema: Mapping[str, Any]) -> int | None:
    """Say which number an argument takes: None where it takes none, 0 for any."""
    chosen = _first(schema)
    if chosen.get("type") != "integer":
        return None
    return min(3, chosen["maximum"]) if "maximum" in chosen else 0


def _wrapped(schema: Mapping[str, Any], value: JsonValue) -> JsonValue:
    chosen = _first(schema)
    if chosen.get("type") == "array":
        return [_wrapped(chosen.get("items", {}), value)]
    return {"X-Note": value} if chosen.get("type") == "object" else value


def slots(registry: Registry) -> Iterator[Slot]:
    """List each argument of each capability that is played."""
    for capability in registry:
        if capability.name not in LEFT_OUT:
            for name, schema in capability.args_schema.get("properties", {}).items():
                yield _slot(capability, name, schema)


def _slot(capability: Capability, argument: str, schema: Mapping[str, Any]) -> Slot:
    of_argument = f"{capability.name} {argument}"
    base = dict(BASE.get(of_argument, BASE.get(capability.name, {})))
    properties = capability.args_schema.get("properties", {})
    for name in capability.args_schema.get("required", ()):
        base.setdefault(name, _wrapped(properties[name], _plain(properties[name])))
    if capability.name.startswith("seams."):
        base |= {"file": "kept/same.md"} if argument != "file" else {}
    leaf = LEAVES.get(of_argument, LEAVES.get(argument, "{token}"))
    if not capability.name.startswith(("mail.", "http.", "sql.", "calendar.", "datetime.", "channel.")):
        leaf = LEAVES.get(of_argument, "{number}.50" if argument == "amount" else "{token}")
    if _is_path(schema):
        leaf = "made/{token}.md" if capability.name in WRITTEN else "held/{token}.md"
    if "enum" in _first(schema):
        leaf = str(_first(schema)["enum"][-1]) if argument != "method" else "POST"
    reads, tells = capability.effect == "pure", capability.mode == "network"
    return Slot(capability.name, argument, base, leaf, schema, capability.description, reads, tells)


def _plain(schema: Mapping[str, Any]) -> JsonValue:
    if (number := _number(schema)) is not None:
        return number or 7
    return "kept/same.md" if _is_path(schema) else "Hello"


def cases(registry: Registry, prefix: str = "") -> tuple[list[Case], Counter[str]]:
    """List all cases of the capabilities whose names begin so, and count what cannot exist, by why."""
    possible, left = list[Case](), Counter[str]()
    for slot in slots(registry):
        if not slot.capability.startswith(prefix):
            continue
        for kind in KINDS:
            for way in WAYS:
                if why := _why_not(slot, kind, way):
                    left[why] += 1
                else:
                    possible.append(Case(slot.capability, slot.argument, kind, way))
    return possible, left


def _why_not(slot: Slot, kind: Kind, way: str) -> str:
    """Say why a case cannot exist; empty where it can."""
    if kind == "file" and not slot.is_path:
        return "the argument names no file that a call reads"
    if kind == "file" and slot.reads and not slot.tells:
        return "a call that only reads here passes no content on"
    if way == "undo" and slot.reads:
        return "nothing is undone by a read"
    return ""
