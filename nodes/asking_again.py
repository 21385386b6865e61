"""Calls of a fork that would repeat what the run it was forked from has done: a person is asked first."""

from __future__ import annotations

from planwright.checkpoints.forks import Forks
from planwright.graph.chains import CREATE_CHAIN
from planwright.graph.loop_state import ToolCall
from planwright.graph.plan import CheckedStep


async def asking_again(calls: list[ToolCall], forks: Forks, run_id: str) -> list[ToolCall]:
    """Gate the calls of a reply whose like was done before, with the run that has done it as the reason."""
    read = []
    for call in calls:
        checked = await gated_again(call.checked, forks, run_id) if call.checked and not call.error else None
        read.append(call.model_copy(update={"checked": checked}) if checked else call)
    return read


async def gated_again(checked: CheckedStep, forks: Forks, run_id: str) -> CheckedStep:
    """Gate one call, or one of a chain that makes such a call; making a chain changes nothing yet."""
    name = checked.step.capability or ""
    if checked.effect == "pure" or name == CREATE_CHAIN:
        return checked
    parts = checked.chain.calls if checked.chain else ()
    made = [(part.capability, part.arguments) for part in parts] or [(name, checked.step.params)]
    for capability, args in made:
        if past := await forks.done_before(run_id, capability, args):
            why = {"gated": True, "asks": True, "reason": past.reason, "done_before": past.run_id}
            return checked.model_copy(update=why)
    return checked


async def not_done_again(checked: list[CheckedStep], forks: Forks, run_id: str) -> list[CheckedStep]:
    """Gate the steps of a new plan whose like was done before; a fork with its plan keeps what was done."""
    fork = await forks.of(run_id)
    if fork is None or fork.plan is not None:
        return checked
    return [await gated_again(entry, forks, run_id) for entry in checked]
