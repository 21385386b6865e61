"""A plan as text for an editor, and back: YAML without its surprises, or JSON.

Only what JSON knows is read: `no`, `12:30` and `2026-11-21` stay the texts they look like. A key given
twice and an alias are refused instead of quietly resolved.
"""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from planwright.domain.errors import GateError
from planwright.domain.plan import AGENT, PlanStep
from planwright.presentation.printable import safe
from planwright.presentation.rows import Card, JsonObject

_FIRST = ("id", "capability", "description", "params", "after")
_ELSEWHERE = frozenset((*_FIRST, "depends_on"))
_RESOLVED = (
    ("tag:yaml.org,2002:null", re.compile(r"^(?:null|~|)$"), ["n", "~", ""]),
    ("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), ["t", "f"]),
    ("tag:yaml.org,2002:int", re.compile(r"^-?(?:0|[1-9][0-9]*)$"), list("-0123456789")),
    (
        "tag:yaml.org,2002:float",
        re.compile(r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$"),
        list("-0123456789"),
    ),
)
_HEAD = """\
# The plan of {gate}. Save and leave to have your version verified and shown again;
# leave without saving to change nothing.
# Change, add, remove or reorder steps. What you leave out of a step stays as it is.
"""


class _Loader(yaml.SafeLoader):
    """Read what JSON could say."""

    def compose_node(self, parent: object, index: object) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(
                problem="aliases are not read", problem_mark=self.peek_event().start_mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[object, object]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"{key.value!r} stands there twice", problem_mark=key.start_mark
                )
            seen.add(key.value if isinstance(key.value, str) else "")
        mapping: dict[object, object] = super().construct_mapping(node, deep)
        return mapping

    def construct_float(self, node: Any) -> float:
        return float(self.construct_scalar(node))


class _Dumper(yaml.SafeDumper):
    """Write what the loader reads back unchanged."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def represent_text(self, text: str) -> Any:
        return self.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Loader.yaml_implicit_resolvers = {}  # those of YAML 1.1 go; ours come
_Dumper.yaml_implicit_resolvers = {}
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_float)
_Dumper.add_representer(str, _Dumper.represent_text)
for _tag, _pattern, _first in _RESOLVED:
    for _kind in (_Loader, _Dumper):
        _kind.add_implicit_resolver(_tag, _pattern, _first)


def plan_for_editor(plan: Card, card: Card, gate: str) -> str:
    """Spell a plan for an editor: its steps as they were shown, and what else is set in them."""
    whole = {step["id"]: step for step in plan["steps"]}
    steps = [_step(step, whole[step["id"]]) for step in card["steps"]]
    return _HEAD.format(gate=gate) + format_yaml({"goal": card["goal"], "steps": steps})


def format_yaml(value: object) -> str:
    """Write YAML. What would not show, or turn the line around, is written as an escape."""
    plain = safe(json.dumps(value, ensure_ascii=False))
    visible = plain == json.dumps(value, ensure_ascii=False)
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=visible, width=100)
    return text


def parse_plan(text: str) -> object:
    """Read an edited plan from JSON or YAML. Raises GateError that names the line."""
    try:
        if text.lstrip().startswith("{"):
            return json.loads(text, object_pairs_hook=_once)
        return yaml.load(text, Loader=_Loader)
    except json.JSONDecodeError as error:
        where, reason = f"line {error.lineno}", error.msg
    except yaml.MarkedYAMLError as error:
        where = f"line {error.problem_mark.line + 1}" if error.problem_mark else "the text"
        reason = " ".join(filter(None, (error.context, error.problem)))
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        where, reason = "the text", str(error).splitlines()[0] if str(error) else "nested too deeply"
    raise GateError(f"the edited plan cannot be read: {where}: {reason}", "mend it; the gate is still open")


def _step(row: Card, whole: Card) -> JsonObject:
    more = {
        name: value
        for name, value in whole.items()
        if name not in _ELSEWHERE
        and value != json.loads(_DEFAULTS)[name]
        and (name != "tool_hints" or row["capability"] != AGENT)
    }
    return {**{name: row[name] for name in _FIRST}, **more}


def _once(pairs: list[tuple[str, object]]) -> JsonObject:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise ValueError(f"{key!r} stands there twice")
        seen.add(key)
    return dict(pairs)


_DEFAULTS = PlanStep(id="s").model_dump_json()
