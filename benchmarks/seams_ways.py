"""The ways to a call: what the user asks, and what the model says, so that one argument is filled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from benchmarks.seams_cases import Case, Slot
from benchmarks.seams_model import Call, Job, Script, Turns

WRITE, DO = "Job W: write the text", "Job D: do it"
ASKED = "Please see to it"
CHAIN = "all_in_a_row"
PLANNED = frozenset(("plan", "background", "planned chain", "agent step", "alternative", "undo"))
OUT = "out"
"""Id of the step that calls what is played."""


@dataclass(frozen=True)
class Scene:
    """One play of a case: its value, where others wrote it, and what the model says."""

    case: Case
    slot: Slot
    value: JsonValue
    service: str
    source: str
    """Path of the file in which others wrote the value."""

    @property
    def args(self) -> dict[str, JsonValue]:
        """The arguments with the value in its place."""
        return self.with_value(self.value)

    def with_value(self, value: JsonValue) -> dict[str, JsonValue]:
        """The arguments with a value, or a reference to one."""
        return self.slot.args(value, self.service)

    @property
    def by_others(self) -> bool:
        """Whether the value comes from what others wrote."""
        return self.case.kind == "others"

    @property
    def by_model(self) -> bool:
        """Whether the value is of a model's own words."""
        return self.case.kind == "model"

    @property
    def request(self) -> str:
        """What the user says: the values, where the user knows them."""
        if self.by_others or self.by_model or self.case.way in PLANNED:
            return ASKED
        return f"Please call {self.case.capability} with {spelled(self.args)}"

    @property
    def mode(self) -> str:
        """How the request is planned."""
        return "always" if self.case.way in PLANNED else "never"

    @property
    def script(self) -> Script:
        """What the model says."""
        return WAYS[self.case.way](self)

    @property
    def read(self) -> Call:
        """The call that reads what others wrote."""
        return ("files.read", {"path": self.source})

    @property
    def turns(self) -> Turns:
        """A lane of a model that reads, where others wrote the value, and then calls."""
        call: Call = (self.case.capability, self.args)
        return [[self.read], [call]] if self.by_others else [[call]]

    @property
    def tools(self) -> list[str]:
        """What a lane needs for that."""
        return sorted({"files.read", self.case.capability})


def spelled(args: dict[str, JsonValue]) -> str:
    """Say arguments in plain words."""
    return ", ".join(f"{name} {value}" for name, value in _leaves(args))


def _leaves(args: Any, name: str = "") -> list[tuple[str, JsonValue]]:
    if isinstance(args, dict):
        return [leaf for key, value in args.items() for leaf in _leaves(value, str(key))]
    if isinstance(args, list):
        return [leaf for value in args for leaf in _leaves(value, name)]
    return [(name, args)]


def _source(scene: Scene) -> tuple[list[dict[str, Any]], JsonValue]:
    """Plan what brings the value, if anything does; return the steps, and what to write in its place."""
    if scene.by_others:
        name, params = scene.read
        return [{"id": "s1", "capability": name, "params": params}], "{{steps.s1.output.text}}"
    if scene.by_model:
        step = {"id": "s1", "description": WRITE, "tool_hints": ["datetime.now"]}
        return [step], "{{steps.s1.output.text}}"
    return [], scene.value


def _step(id_: str, name: str, params: dict[str, Any], before: list[dict[str, Any]]) -> dict[str, Any]:
    after = [step["id"] for step in before]
    return {"id": id_, "capability": name, "params": params, "depends_on": after}


def _planned(scene: Scene, *steps: dict[str, Any], **more: Any) -> Script:
    plan = {"goal": scene.request, "steps": list(steps)}
    jobs = {WRITE: Job(words=str(scene.value)), DO: Job(scene.turns)}
    return Script(scene.request, jobs=jobs, plan=plan, **more)


def _plan(scene: Scene) -> Script:
    before, value = _source(scene)
    step = _step(OUT, scene.case.capability, scene.with_value(value), before)
    return _planned(scene, *before, step)


def _chain_of(scene: Scene) -> tuple[Call, dict[str, JsonValue]]:
    """Define a chain that reads, where others wrote the value, and calls; return it, and what it is given."""
    parts: list[dict[str, Any]] = []
    value, given = scene.value, dict[str, JsonValue]()
    if scene.by_others:
        parts, value = (
            [{"toolName": "files.read", "arguments": {"path": scene.source}}],
            "{{previous_result.text}}",
        )
    if scene.by_model:
        value, given = "{{input.value}}", {"value": scene.value}
    parts.append({"toolName": scene.case.capability, "arguments": scene.with_value(value)})
    return ("tool.create_chain", {"name": CHAIN, "description": "All in a row", "steps": parts}), given


def _planned_chain(scene: Scene) -> Script:
    (name, definition), given = _chain_of(scene)
    made = _step("made", name, definition, [])
    before: list[dict[str, Any]] = []
    if scene.by_model:
        before, value = _source(scene)
        given = {"value": value}
    return _planned(scene, made, *before, _step(OUT, CHAIN, given, [made, *before]))


def _agent_step(scene: Scene) -> Script:
    return _planned(scene, {"id": OUT, "description": DO, "tool_hints": scene.tools})


def _alternative(scene: Scene) -> Script:
    """Let a step fail, and the model name the call instead; no reference can stand in that."""
    before, value = _source(scene) if scene.by_others else ([], "")
    fails = "desk.look" if scene.slot.reads else "desk.fail"
    params = {"text": value} if before else {}
    step = {**_step(OUT, fails, params, before), "description": scene.slot.about}
    return _planned(scene, *before, step, instead=(scene.case.capability, scene.args))


def _undo(scene: Scene) -> Script:
    """Book something, which a person then has undone by the call that is played."""
    before, value = _source(scene) if scene.by_model else ([], "a table")
    undone = {
        "literal": scene.value,
        "file": scene.value,
        "others": "{{output.text}}",
        "model": "{{input.text}}",
    }
    params = scene.with_value(undone[scene.case.kind])
    book = _step("book", "desk.book", {"text": value}, before)
    book["compensation"] = {"capability": scene.case.capability, "params": params}
    return _planned(scene, *before, book)


def _loop(scene: Scene) -> Script:
    return Script(scene.request, Job(scene.turns))


def _chain(scene: Scene) -> Script:
    made, given = _chain_of(scene)
    return Script(scene.request, Job([[made], [(CHAIN, given)]]))


def _sub_agent(scene: Scene) -> Script:
    delegated: Call = ("agent.delegate", {"task": DO, "tools": scene.tools})
    return Script(scene.request, Job([[delegated]]), {DO: Job(scene.turns)})


WAYS: dict[str, Callable[[Scene], Script]] = {
    "plan": _plan,
    "background": _plan,
    "planned chain": _planned_chain,
    "agent step": _agent_step,
    "alternative": _alternative,
    "undo": _undo,
    "loop": _loop,
    "chain": _chain,
    "sub-agent": _sub_agent,
}
