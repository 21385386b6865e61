"""A judge of plans that shares no code with the product: jsonschema for shapes, networkx for order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import networkx as nx
from jsonschema import Draft202012Validator

TEXT: dict[str, Any] = {"type": "string"}
TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}
CALL: dict[str, Any] = {
    "type": "object",
    "properties": {"capability": TEXT, "params": {"type": "object"}},
    "required": ["capability"],
    "additionalProperties": False,
}
STEP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "minLength": 1, "maxLength": 64},
        "capability": {"type": ["string", "null"]},
        "params": {"type": "object"},
        "description": TEXT,
        "depends_on": TEXTS,
        "inputs": TEXTS,
        "tool_hints": TEXTS,
        "context_key": TEXT,
        "returns": {"type": "null"},  # nor models that would do a step
        "expected_output": TEXT,
        "success_criteria": {
            "type": ["object", "null"],
            "properties": {"cel": {"type": ["string", "null"]}, "rubric": {"type": ["string", "null"]}},
            "additionalProperties": False,
        },
        "estimated_risk": {"enum": ["None", "Low", "Medium", "High", "Critical"]},
        "approval_mode": {"enum": [None, "read_only", "local_write", "network", "delegated", "destructive"]},
        "model_hint": {"type": ["object", "null"]},
        "on_failed_dependency": {"enum": [None, "partial", "skip"]},
        "on_empty": {"enum": [None, "skip", "end", "go_on"]},
        "when": TEXT,
        "compensation": {"anyOf": [{"type": "null"}, CALL]},
        "timeout_s": {"type": ["number", "null"], "exclusiveMinimum": 0},
        "requires": {"type": "array", "maxItems": 0},  # the world of these plans has no gates
    },
    "required": ["id"],
    "additionalProperties": False,
}
PLAN: dict[str, Any] = {
    "type": "object",
    "properties": {
        "plan_id": TEXT,
        "revision": {"type": "integer"},
        "goal": TEXT,
        "intent": TEXT,
        "cannot": TEXT,
        "steps": {"type": "array", "items": STEP, "maxItems": 21},
        "on_failed_dependency": {"enum": ["partial", "skip"]},
        "decision_checkpoints": {"type": "array"},
    },
    "additionalProperties": False,
}
ARGS: dict[str, dict[str, Any]] = {
    "notes.read": {"name": "string"},
    "notes.write": {"name": "string", "text": "string", "size": "integer", "tags": "array"},
    "respond": {},
}
REQUIRED = {"notes.read": {"name"}, "notes.write": {"name", "text"}, "respond": set[str]()}
BRINGS = {"text": "string", "size": "integer", "": "object"}
TAKES = {"string": {"string"}, "integer": {"string", "integer"}, "array": {"array"}}
KINDS = {"string": str, "integer": int, "array": list}
_WHOLE = re.compile(r"\{\{\s*steps\.([\w-]+)\.output(?:\.(\w+))?\s*\}\}")
_CONDITION = re.compile(r"steps\.(\w+)\.output\.size (?:>|<=) \d+")  # the one kind that these plans have
_SHAPE = Draft202012Validator(PLAN)


def why_wrong(plan: dict[str, Any]) -> str:
    """Say why a plan, in its canonical form, may not run; nothing where it may."""
    if error := next(iter(_SHAPE.iter_errors(plan)), None):
        return f"shape: {error.message[:80]}"
    steps = plan["steps"]
    ids = [step["id"] for step in steps]
    keys = [step["context_key"] or step["id"] for step in steps]
    if len(set(ids)) < len(ids) or len(set(keys)) < len(keys):
        return "a name twice"
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(ids)
    for place, step in enumerate(steps):
        needs = [*step["depends_on"], *(ids[keys.index(key)] for key in step["inputs"] if key in keys)]
        needs += [match[1] for text in texts(step["params"]) for match in _WHOLE.finditer(text)]
        condition = _CONDITION.fullmatch(step["when"])
        sized = [one["id"] for one in steps[:place] if (one["capability"] or "").startswith("notes.")]
        if step["when"] and (not condition or condition[1] not in sized or step["capability"] == "respond"):
            return "a condition that does not fit"
        needs += [condition[1]] if condition else []
        if not set(needs) <= set(ids) or not set(step["inputs"]) <= set(keys[:place]):
            return "a step that is not there"
        graph.add_edges_from((need, step["id"]) for need in needs)
        if flaw := _step_flaw(step, ids[:place]):
            return flaw
    return "" if nx.is_directed_acyclic_graph(graph) else "a cycle"


def lost(given: dict[str, Any], plan: dict[str, Any]) -> list[str]:
    """List the values of what was given, step by step, that the plan read from it does not hold any more.

    What a model says of its reasoning is no part of a plan, and a `step` that is its place says nothing more.
    """
    pairs = [({**given, "steps": None}, {**plan, "steps": None})]
    steps = given.get("steps")
    if isinstance(steps, list) and len(steps) == len(plan["steps"]):
        pairs += [
            (
                {
                    key: value
                    for key, value in step.items()
                    if (key, value) not in (("step", n), ("step", n + 1))
                },
                read,
            )
            for n, (step, read) in enumerate(zip(steps, plan["steps"], strict=True))
        ]
    else:
        pairs.append(({"steps": steps}, plan))
    return [leaf for one, other in pairs for leaf in _values(one) - _values(other)]


def _values(part: dict[str, Any]) -> set[str]:
    said = {key: value for key, value in part.items() if key != "reasoning"}
    return {str(leaf) for leaf in leaves(said) if str(leaf).strip()}


def leaves(value: Any) -> Iterator[Any]:
    """Walk all values that hold no others, but null."""
    if isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from leaves(inner)
    elif value is not None:
        yield value


def texts(value: Any) -> Iterator[str]:
    """Walk all texts in a value."""
    return (leaf for leaf in leaves(value) if isinstance(leaf, str))


def _step_flaw(step: dict[str, Any], earlier: list[str]) -> str:
    call = step["capability"]
    if not call:
        hints = step["tool_hints"]
        whole = set(hints) <= ARGS.keys() - {"respond"} and step["description"].strip()
        return (
            "" if whole and not step["params"] and step["timeout_s"] is None else "an agent without its task"
        )
    if call not in ARGS:
        return "a capability that is not there"
    if not step["params"].keys() <= ARGS[call].keys() or not REQUIRED[call] <= step["params"].keys():
        return "other arguments"
    for name, value in step["params"].items():
        whole = _WHOLE.fullmatch(value.strip()) if isinstance(value, str) else None
        if whole:
            if whole[1] not in earlier or BRINGS.get(whole[2] or "", "?") not in TAKES[ARGS[call][name]]:
                return "a reference that does not fit"
        elif not _fits(value, ARGS[call][name]):
            return "an argument of another type"
    return ""


def _fits(value: Any, kind: str) -> bool:
    if kind == "integer" and isinstance(value, str | float):
        return bool(re.fullmatch(r"\s*[+-]?\d+(\.0*)?\s*", str(value))) or "{{" in str(value)
    if kind == "array" and value is None:
        return True
    if kind == "array":
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    return isinstance(value, KINDS[kind])
