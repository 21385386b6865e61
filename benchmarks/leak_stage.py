"""A workspace in which a secret is played, and everything that is heard from it."""

from __future__ import annotations

import traceback
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig

from planwright.capabilities.contract import Capability
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load

MODES = ["values", "updates", "custom", "messages", "debug"]


@dataclass
class Stage:
    """One workspace, and everything that is heard from the runs in it."""

    folder: Path
    heard: list[tuple[str, str]] = field(default_factory=list)
    thread: str = ""

    @property
    def config(self) -> RunnableConfig:
        """The config of the run that is played."""
        return {"configurable": {"thread_id": self.thread}}

    def play(
        self, model: ScriptedModel, *given: Any, tools: tuple[Capability, ...] = (), **flags: Any
    ) -> None:
        """Play inputs on a new thread, and listen to chunks, errors, state, prompts and the records."""
        self.thread = str(uuid.uuid4())
        planning = {"mode": flags.pop("mode", "always")}
        agent = build_graph(load(self.folder, planning=planning, **flags), model=model, capabilities=tools)
        try:
            for entry in given:
                self._enter(agent, entry)
            self.hear("state", agent.get_state(self.config))
            self.hear("history", [*agent.get_state_history(self.config)][:3])
        finally:
            agent.close()
        self.hear("prompts", model.prompts)

    def _enter(self, agent: Agent, entry: Any) -> None:
        words: dict[str, str] = {}
        try:
            for mode, chunk in agent.stream(entry, self.config, stream_mode=MODES):
                self.hear(f"stream {mode}", chunk)
                if mode == "messages":
                    said, _ = chunk
                    words[str(said.id)] = words.get(str(said.id), "") + said.text
        except Exception as error:  # noqa: BLE001 - whatever comes out is heard
            self.hear("error", "".join(traceback.format_exception(error)))
        self.hear("stream, joined", "\n".join(words.values()))

    def hear(self, where: str, what: object) -> None:
        """Keep something that came out."""
        self.heard.append((where, what if isinstance(what, str) else f"{what!r}\n{what}"))
