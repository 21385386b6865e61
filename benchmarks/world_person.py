"""A person who goes on with a run by commands, from what is on record, and says what the receiver knows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.world_files import World
from benchmarks.world_shapes import DRAFT
from benchmarks.world_stage import WorldStage

RUNS = "SELECT * FROM runs ORDER BY rowid"
LEFT = (
    "SELECT run_id, key, args FROM effects WHERE status IN ('intent', 'in_doubt')"
    " AND capability LIKE 'desk.%' ORDER BY rowid"
)
AGAIN = "SELECT 1 FROM gates WHERE run_id = ? AND kind = 'escalation' AND status = 'approved'"
OPEN = "SELECT * FROM gates WHERE run_id = ? AND status = 'open' ORDER BY rowid"


@dataclass
class WorldPerson:
    """Somebody at a terminal, in a world that is as it is."""

    stage: WorldStage

    def next_command(self, world: World) -> list[str]:
        """Say what to do next; nothing where all has ended."""
        runs = self.stage.rows(RUNS)
        if not runs:
            return ["run", self.stage.shape.script.request, "--no-input"]
        if open_ := [run for run in runs if run["ended_at"] is None]:
            return [*self._go_on(open_[0], world), "--no-input"]
        if left := self.stage.rows(LEFT):
            run = left[0]["run_id"]
            effects = [
                {"key": row["key"], "args": json.loads(str(row["args"]))}
                for row in left
                if row["run_id"] == run
            ]
            return ["respond", str(run), *self._truth({"effects": effects}), "--no-input"]
        if self.stage.shape.then == "fork" and len(runs) == 1:
            planned = self.stage.rows("SELECT 1 FROM plans WHERE run_id = ?", runs[0]["run_id"])
            return ["fork", str(runs[0]["thread_id"]), *(("--rerun", "s2") if planned else ()), "--no-input"]
        return []

    def _go_on(self, run: Mapping[str, Any], world: World) -> list[str]:
        gates = self.stage.rows(OPEN, run["run_id"])
        if not gates:
            return ["resume", str(run["thread_id"])]
        gate = gates[0]
        shown, name = json.loads(str(gate["shown"])), str(gate["gate_id"])
        if shown.get("effects"):
            return ["respond", name, *self._truth(shown)]
        if gate["kind"] == "escalation" and self.stage.rows(AGAIN, run["run_id"]):
            return ["reject", name, "--reason", "it failed again"]
        if any(step.get("params", {}).get("name") == DRAFT for step in shown.get("steps") or ()):
            if world.gone or world.renamed:  # no edit of the plan may run
                return ["reject", name, "--reason", "its tool is gone"]
            return ["edit", name, "--file", self._edited(name, world)]
        return ["approve", name]

    def _edited(self, gate: str, world: World) -> str:
        """Change the plan of a gate by hand."""
        text = self.stage.planwright(["edit", gate, "--print"], world).stdout
        file = self.stage.folder / "plan.yaml"
        file.write_text(text.replace(DRAFT, "first"))
        return str(file)

    def _truth(self, shown: Mapping[str, Any]) -> list[str]:
        """Say of each effect what the receiver knows of its keys."""
        there = {arrival.key: arrival.name for arrival in self.stage.receiver.happened()}
        words: list[str] = []
        for effect in shown["effects"]:
            row = self.stage.rows("SELECT first_key FROM effects WHERE key = ?", effect["key"])
            keys = (str(effect["key"]), *(str(one["first_key"]) for one in row))
            if name := next((there[key] for key in keys if key in there), ""):
                words += ["--happened", f"{effect['key']}={json.dumps({'name': name})}"]
            else:
                words += ["--not-happened", str(effect["key"])]
        return words
