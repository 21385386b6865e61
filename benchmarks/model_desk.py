"""Models at three providers, and a run to ask them for: what the chaos benchmarks have in common."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers._streaming import _StreamingCallbackHandler

from planwright.domain.run_context import RunContext
from planwright.models.calling import Models
from planwright.models.model_calls import ChatPrompt
from planwright.models.providers.router import Router
from planwright.records.records import open_records
from planwright.records.runs import Run
from planwright.settings.profile import in_force
from planwright.settings.settings import load
from planwright.state.invocation import Invocation
from planwright.state.step_board import StepBoard

NAMES = ("a", "b", "c")
TOOL = {
    "type": "function",
    "function": {"name": "note", "description": "d", "parameters": {"type": "object"}},
}


class _Reader(AsyncCallbackHandler, _StreamingCallbackHandler[Any]):
    """Somebody who reads along, so that replies are streamed."""

    def tap_output_aiter(self, run_id: Any, output: Any) -> Any:
        """Hand on what is streamed."""
        return output

    def tap_output_iter(self, run_id: Any, output: Any) -> Any:
        """Hand on what is streamed."""
        return output


@dataclass(frozen=True)
class Desk:
    """Models, and a run to ask them for."""

    models: Models
    router: Router
    invocation: Invocation

    async def ask(self, number: int, turn: int, streams: bool) -> AIMessage:
        """Ask for a call that names `number`, after so many turns. Raises ModelError."""
        earlier: list[AnyMessage] = []
        for said in range(turn):
            earlier += [HumanMessage("go on"), AIMessage(f"turn {said}")]

        async def chat(_: object) -> AIMessage:
            return await self.models.chat(
                self.router.route(),
                ChatPrompt("agent", [*earlier, HumanMessage(f"request {number}")], [TOOL]),
                self.invocation,
                f"{number}.{turn}",
            )

        reading = {"callbacks": [_Reader()]} if streams else {}
        return await RunnableLambda(chat).ainvoke(None, reading)  # type: ignore[arg-type]


RUN = Run(
    run_id="run",
    thread_id="thread",
    tenant="default",
    status="running",
    request="",
    messages=[],
    context={},
    started_at="2026-11-21T12:00:00+00:00",
)


@asynccontextmanager
async def desk_at(
    folder: Path, base_urls: Sequence[str], models: Sequence[str], idle_s: float = 60, **limits: Any
) -> AsyncIterator[Desk]:
    """Open models at three providers, the first of which is the first to be asked."""
    own = {"api_key": "k", "idle_timeout_s": idle_s, "reply_timeout_s": idle_s}
    providers = {
        name: {"base_url": base_url, "model": model, "priority": place, **own}
        for place, (name, base_url, model) in enumerate(zip(NAMES, base_urls, models, strict=True))
    }
    settings = load(folder, providers=providers, **limits)
    records = open_records(folder)
    router = Router(settings)
    invocation = Invocation(
        lease=await records.leases.take(RUN, 3600),
        context=RunContext(),
        profile=in_force(settings, RunContext()),
        board=StepBoard({}, 8),
        record=lambda event, key: None,
        writer=lambda event: None,
    )
    try:
        yield Desk(Models(router, records.budgets, settings), router, invocation)
    finally:
        await router.close()
        records.close()


@dataclass(frozen=True)
class Traffic:
    """What came of many requests while providers went down: replies, those sent twice, calls sent."""

    requests: int
    succeeded: int
    twice: int
    sent: int

    @property
    def succeeded_share(self) -> float:
        """The share of requests that were answered."""
        return self.succeeded / self.requests

    @property
    def sent_per_request(self) -> float:
        """How many calls one request took."""
        return self.sent / self.requests
