"""What a call uses, by the declaration of its capability and what is known of its arguments."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.resources import ANYTHING, Uses, all_of
from planwright.capabilities.schema_paths import JsonSchema
from planwright.domain.errors import CapabilityRejected
from planwright.domain.references import has_reference

_UNKNOWN = "{{unknown}}"


def uses_of(capability: Capability, params: Mapping[str, JsonValue], context: CallContext) -> Uses:
    """Name what a call reads, adds to and overwrites; of a chain, what all its calls do.

    `params` may hold references, whose values may be anything. Raises CapabilityRejected when the declaration
    breaks with arguments that are all known.
    """
    if capability.calls is not None:
        calls = capability.calls(params)
        return all_of(uses_of(call.part, call.args or _unknown(call.part), context) for call in calls)
    args = {**capability.defaults, **_with_lists(params, capability.args_schema)}
    if capability.reads is None and capability.adds is None and capability.writes is None:
        return _undeclared(capability.narrowed(args, context))
    try:
        return Uses(
            reads=capability.resources("reads", args, context),
            adds=capability.resources("adds", args, context),
            writes=capability.resources("writes", args, context),
        )
    except CapabilityRejected:
        if not has_reference(args):
            raise
        return Uses(reads=frozenset((ANYTHING,))) if capability.effect == "pure" else _ALL


def uses_of_tool(capability: Capability, context: CallContext) -> Uses:
    """Name what calls of a tool may use, before a model has chosen their arguments."""
    return uses_of(capability, _unknown(capability), context)


_ALL = Uses(writes=frozenset((ANYTHING,)))


def _undeclared(capability: Capability) -> Uses:
    """Suppose that a tool of an MCP server uses all that this has; what else declares nothing uses nothing.

    A pure call reads there, an effect adds something; what is destructive, or of a mode that nobody declared,
    may replace anything. (A tool whose `destructiveHint` is false only adds, as the protocol has it.)
    """
    server = frozenset((f"mcp:{capability.server}",)) if capability.server else frozenset()
    if capability.effect == "pure":
        return Uses(reads=server)
    grave = capability.mode == "destructive" or not capability.declared
    return Uses(writes=server) if grave else Uses(adds=server)


def _unknown(capability: Capability) -> dict[str, JsonValue]:
    schema = capability.args_schema
    return _with_lists(dict.fromkeys(schema.get("properties", {}), _UNKNOWN), schema)


def _with_lists(params: Mapping[str, JsonValue], schema: JsonSchema) -> dict[str, JsonValue]:
    """Put a list of one reference where a reference stands for a list: a declaration may walk its items."""
    declared = schema.get("properties", {})
    return {
        name: [value]
        if isinstance(value, str) and has_reference(value) and _is_list(declared.get(name, {}))
        else value
        for name, value in params.items()
    }


def _is_list(declared: JsonSchema) -> bool:
    return any(form.get("type") == "array" for form in (declared, *declared.get("anyOf", ())))
