"""A person who goes on with a run by commands, from what is on record, and says what the receiver knows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.world_stage import WorldStage

RUNS = "SELECT * FROM runs ORDER BY rowid"
OPEN = "SELECT * FROM gates WHERE run_id = ? AND status = 'open' ORDER BY rowid"


@dataclass
class WorldPerson:
    """Somebody at a terminal; `edited` says whether the plan has been changed by hand already."""

    stage: WorldStage
    answered: set[str] = field(default_factory=set)

    def next_command(self) -> list[str]:
        """Say what to do next; nothing where all has ended."""
        runs = self.stage.rows(RUNS)
        if not runs:
            return ["run", self.stage.shape.script.request, "--no-input"]
        if open_ := [run for run in runs if run["ended_at"] is None]:
            return [*self._go_on(open_[0]), "--no-input"]
        if self.stage.shape.then == "fork" and len(runs) == 1:
            return ["fork", str(runs[0]["thread_id"]), "--rerun", "s2", "--no-input"]
        return []

    def _go_on(self, run: Mapping[str, Any]) -> list[str]:
        gates = self.stage.rows(OPEN, run["run_id"])
        if not gates:
            return ["resume", str(run["thread_id"])]
        gate = gates[0]
        shown, name = json.loads(str(gate["shown"])), str(gate["gate_id"])
        if shown.get("effects"):
            return ["respond", name, *self._truth(shown)]
        return ["approve", name]

    def _truth(self, shown: Mapping[str, Any]) -> list[str]:
        """Say of each effect what the receiver knows of its keys."""
        there = {arrival.key for arrival in self.stage.receiver.happened()}
        words: list[str] = []
        for effect in shown["effects"]:
            row = self.stage.rows("SELECT key, first_key FROM effects WHERE key = ?", effect["key"])
            keys = {effect["key"], *(row[0].values() if row else ())}
            if keys & there:
                words += ["--happened", f"{effect['key']}={json.dumps({'name': effect['args']['name']})}"]
            else:
                words += ["--not-happened", str(effect["key"])]
        return words
