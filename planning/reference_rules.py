"""What a plan's references have to pass: they lead somewhere, and bring what their argument takes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from pydantic import JsonValue

from planwright.capabilities.registry import Registry
from planwright.capabilities.schema_paths import NotThere, SchemaPlace, fits, place_in, root_place, type_names
from planwright.domain.plan import Plan, PlanStep
from planwright.domain.references import reference_paths, strings, whole_reference

_OF_AGENT = {"type": "object", "properties": {"text": {"type": "string"}}}
_OF_REQUEST = {"type": "object", "properties": {"request": {"type": "string"}}}
_TEXT: Mapping[str, object] = {"type": "string"}
_VALID = re.compile(r"\{\{[^{}]*\}\}")
Flaw = tuple[str, str]  # what is wrong, and how to mend it


def reference_flaws(plan: Plan, step: PlanStep, registry: Registry) -> Iterator[Flaw]:
    """Find references of a step that lead nowhere, bring a wrong type, or are spelled as no reference."""
    outputs = outputs_of(plan, registry)
    capability = registry.get(step.capability or "")
    schema = capability.args_schema if capability else {}
    yield from _walk(dict(step.params), root_place(schema) if schema else None, "", outputs)
    yield from _strays(step, [other.id for other in plan.steps])


def outputs_of(plan: Plan, registry: Registry) -> dict[str, Mapping[str, object]]:
    """Map the steps of a plan to the schemas of what they return, as far as those are known."""
    return {step.id: schema for step in plan.steps if (schema := _output(step, registry)) is not None}


def _output(step: PlanStep, registry: Registry) -> Mapping[str, object] | None:
    """Find the schema of what a step returns; None where it is not known."""
    if step.agentic:
        return step.returns or _OF_AGENT
    capability = registry.get(step.capability or "")
    return capability.result_schema if capability and capability.result_schema else None


def _walk(
    value: JsonValue, wanted: SchemaPlace | None, name: str, outputs: Mapping[str, Mapping[str, object]]
) -> Iterator[Flaw]:
    if isinstance(value, str):
        yield from _text(value, wanted, name, outputs)
    elif isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in inner:
            yield from _walk(item, _argument(wanted, str(key)), f"{name}.{key}".lstrip("."), outputs)


def _argument(wanted: SchemaPlace | None, key: str) -> SchemaPlace | None:
    """Go into the schema of an argument; what it does not have is found where arguments are checked."""
    try:
        return place_in(wanted, [key]) if wanted else None
    except NotThere:
        return None


def _text(
    text: str, wanted: SchemaPlace | None, name: str, outputs: Mapping[str, Mapping[str, object]]
) -> Iterator[Flaw]:
    alone = whole_reference(text) is not None
    for path in reference_paths(text):
        schema = _OF_REQUEST if path[0] == "input" else outputs.get(path[1]) if len(path) > 2 else None
        if schema is None or (path[0] == "steps" and path[2] != "output"):
            continue
        rest = path[1:] if path[0] == "input" else path[3:]
        try:
            brought = place_in(root_place(schema), rest)
        except NotThere as error:
            spelled = "{{" + ".".join(path) + "}}"
            fix = f"it returns: {', '.join(error.names)}" if error.names else "refer to less of it"
            yield f"{spelled} leads nowhere: {path[1]} returns no {rest[-1]!r}", fix
            continue
        if alone and brought and not fits(brought, wanted):
            yield _wrong(path, brought, wanted, name)
    refers = any(True for _ in reference_paths(text))
    if refers and not alone and wanted and not fits(root_place(_TEXT), wanted):
        yield (
            f"`{name}` is a text with references, and takes {type_names(wanted)}",
            "give one whole reference",
        )


def _wrong(path: Sequence[str], brought: SchemaPlace, wanted: SchemaPlace | None, name: str) -> Flaw:
    spelled = "{{" + ".".join(path) + "}}"
    takes = type_names(wanted) if wanted else "anything"
    fix = "refer to a part of it that fits"
    if takes == "string":
        fix = f'write it into a text, as "it is {spelled}"'
    return f"{spelled} is {type_names(brought)}, and `{name}` takes {takes}", fix


def _strays(step: PlanStep, ids: Collection[str]) -> Iterator[Flaw]:
    """Find texts that speak of the output of a step in another way than a reference does."""
    named = "|".join(map(re.escape, ids))
    stray = re.compile(
        rf"\bsteps\.(?:{named})\.(?:output|result)|[$<\[{{]\{{?\s*(?:{named})\.(?:output|result)s?\b"
        rf"|\$(?:{named})\.\w|\$\{{\s*(?:steps|input)\b"
    )
    for text in strings(dict(step.params)):
        if match := stray.search(_VALID.sub("", text)):
            yield (
                f"{match[0]!r} is no reference, and would stay as it is",
                "write {{steps.<id>.output.<path>}}",
            )
