"""What is asked of a simulated run, and a model that plans and calls what its request asks for, or fails."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from pydantic import PrivateAttr

from benchmarks.consent_cases import chain_of, job
from benchmarks.consent_model import Call, Script, Turns
from benchmarks.simulated_time import World
from planwright.domain.run_context import PlanningMode

KINDS = ("book", "transfer", "post", "stamp", "pay")
Way = Literal["plan", "loop", "chain", "sub-agent", "agentic step"]
WAYS: tuple[Way, ...] = ("plan", "plan", "loop", "chain", "sub-agent", "agentic step")


ASKED = {"chain": ", by a chain of tools", "sub-agent": ", and let another agent help you"}


@dataclass(frozen=True)
class Request:
    """What is asked for: effects by business id, on which others each depends, and what the model says."""

    way: Way
    effects: dict[str, tuple[str, ...]]
    script: Script
    mode: PlanningMode


@dataclass(frozen=True)
class Vocabulary:
    """The words of requests: the family of capabilities, its kinds, and what each business id begins with.

    `script` is the class of models that say what a request asks for.
    """

    family: str = "sim"
    kinds: tuple[str, ...] = KINDS
    about: str = ""
    script: type[Script] = Script


SIMULATED = Vocabulary()


def draw(chance: random.Random, like: Vocabulary = SIMULATED) -> Request:
    """Draw a request of one to four effects."""
    way = chance.choice(WAYS)
    calls: list[Call] = [
        (f"{like.family}.{kind}", {"name": f"{like.about}{kind} {n}"})
        for n, kind in enumerate(chance.choices(like.kinds, k=chance.randint(1, 4)), 1)
    ]
    names = [str(args["name"]) for _, args in calls]
    request = f"Carry out {', '.join(names)}{ASKED.get(way, '')}"
    if way == "plan":
        after = [sorted(chance.sample(range(n), chance.randint(0, min(n, 2)))) for n in range(len(calls))]
        steps = [
            {"id": f"s{n}", "capability": name, "params": args, "depends_on": [f"s{m}" for m in after[n]]}
            for n, (name, args) in enumerate(calls)
        ]
        effects = {name: tuple(names[m] for m in after[n]) for n, name in enumerate(names)}
        plan = {"goal": request, "steps": steps}
        return Request(way, effects, like.script(request, (), plan=plan), "always")
    if way == "agentic step":
        return _agentic(request, calls, names, like)
    turns, jobs = _turns(way, chance, calls, f"{like.about}Job A")
    effects = _in_row(names) if way == "chain" else dict.fromkeys(names, ())
    return Request(way, effects, like.script(request, turns, jobs=jobs), "never")


def _agentic(request: str, calls: list[Call], names: list[str], like: Vocabulary) -> Request:
    """Ask for one step of several calls, and for a call after it."""
    first, last = calls[:-1] or calls, calls[-1:] if calls[:-1] else []
    hints, job_name = sorted({name for name, _ in first}), f"{like.about}Job S"
    steps: list[dict[str, Any]] = [
        {"id": "s1", "description": f"{job_name}: send them", "tool_hints": hints, "depends_on": []}
    ]
    steps += [{"id": "s2", "capability": name, "params": args, "depends_on": ["s1"]} for name, args in last]
    script = like.script(request, (), plan={"goal": request, "steps": steps}, jobs={job_name: [first]})
    return Request("agentic step", dict.fromkeys(names, ()), script, "always")


def _turns(
    way: Way, chance: random.Random, calls: list[Call], job_name: str
) -> tuple[Turns, dict[str, Turns]]:
    cut = chance.randint(1, len(calls))
    if way == "chain":
        return [[chain_of(calls)], [("all_in_a_row", {})]], {}
    if way == "sub-agent":
        rest = [calls[cut:]] if calls[cut:] else []
        return [[job(job_name, "send it", calls[:cut])], *rest], {job_name: [calls[:cut]]}
    return [turn for turn in (calls[:cut], calls[cut:]) if turn], {}


def _in_row(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(names[:n]) for n, name in enumerate(names)}


FATES = ("down", "away", "slow", "broken", "empty")
NOBODY = "nobody is there"


class SimulatedModel(BaseChatModel):
    """Say what the script of a request says; `oddity` is how often it fails, and until when it is away.

    Being away, it answers nobody for 2 s, a minute or an hour of the simulation.
    """

    model_name: str = "simulated"
    _script: Script = PrivateAttr()
    _world: World = PrivateAttr()
    _oddity: list[float] = PrivateAttr()

    def __init__(self, script: Script, world: World, oddity: list[float]) -> None:
        super().__init__()
        self._script, self._world, self._oddity = script, world, oddity

    @property
    def _llm_type(self) -> str:
        return "simulated"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        """Take tools along with every call."""
        return self.bind(tools=tools, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError("it is asked on an event loop")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        chance = self._world.chance
        role = messages[0].text.partition("\n")[0]
        await asyncio.sleep(chance.uniform(0.05, 2))
        reply = self._script.reply(convert_to_openai_messages(messages), kwargs.get("tools", ()))
        fate = chance.choice(FATES) if chance.random() < self._oddity[0] else ""
        if fate == "away":
            self._oddity[1] = self._world.now + chance.choice((2, 60, 3600))
        fate = "away" if self._world.now < self._oddity[1] else fate
        self._world.note(f"model {role} {fate}")
        if fate in ("down", "away"):
            raise ConnectionError(NOBODY)
        if fate == "slow":
            await asyncio.sleep(200)
        content = str(reply.get("content") or "")
        calls = [
            {"id": c["id"], "name": c["function"]["name"], "args": json.loads(c["function"]["arguments"])}
            for c in reply.get("tool_calls", ())
        ]
        if fate in ("broken", "empty"):
            content, calls = content[: len(content) // 2] if fate == "broken" else "", []
        message = AIMessage(
            content=content,
            tool_calls=calls,
            usage_metadata={"input_tokens": 10, "output_tokens": 10, "total_tokens": 20},
            response_metadata={"model_name": self.model_name},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])
