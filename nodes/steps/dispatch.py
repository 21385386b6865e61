"""dispatch: send every open step of an approved plan on its way, all at once."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from langgraph.types import Send

from planwright.capabilities.gateway.gateway import Gateway
from planwright.domain.schedule import waves
from planwright.domain.verified_step import VerifiedStep
from planwright.planning.write_conflicts import before
from planwright.settings.execution import ExecutionSettings
from planwright.state.agent_state import AgentState, AgentUpdate, StepTask, plan_of
from planwright.state.invocation import invocation_of
from planwright.state.lane_state import LaneInput
from planwright.state.node import Node


def dispatch(gateway: Gateway) -> Node[AgentState, AgentUpdate]:
    """Read the approved plan, then announce its start; the edge behind this node sends its steps."""

    async def dispatch(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        plan, invocation = plan_of(state), invocation_of(config)
        await gateway.runnable_plan(invocation.lease, plan.plan_hash)
        data = {
            "plan_id": plan.plan_id,
            "goal": plan.goal,
            "total": len(plan.work),
            "revision": plan.revision,
        }
        invocation.emit("plan_start", {**data, "plan_hash": plan.plan_hash}, plan.plan_id)
        return {}

    return dispatch


def sends(state: AgentState, execution: ExecutionSettings) -> list[Send]:
    """One `Send` a step, in topological order: gated, agentic and chains to a lane, others to one node.

    Before a person is asked, those that are read first alone.
    """
    plan, checked = plan_of(state), state["checked"]
    begun = _reads(checked) if state.get("reading") else {entry.uid for entry in checked}
    barriers = _barriers(checked, begun) if execution.order == "waves" else {}
    ends = [entry.uid for entry in checked if entry.step.on_empty == "end"]
    sent = []
    for index, entry in enumerate(checked, 1):
        if entry.uid not in begun:
            continue
        task = StepTask(
            run_id=state["run_id"],
            plan_id=plan.plan_id,
            plan_hash=plan.plan_hash,
            plan_gate=state["gate_id"],
            goal=plan.goal,
            route=state["route"],
            index=index,
            total=len(checked),
            checked=entry,
            awaits=barriers.get(entry.uid, entry.needs),
            ends=tuple(uid for uid in ends if uid != entry.uid),
        )
        in_lane = entry.gated or entry.gates or entry.step.agentic or entry.chain is not None
        sent.append(Send("lane", LaneInput(step_task=task)) if in_lane else Send("direct_step", task))
    return sent


def _reads(checked: list[VerifiedStep]) -> set[str]:
    return {entry.uid for entry in checked if entry.read_first}


def _barriers(checked: list[VerifiedStep], begun: set[str]) -> dict[str, tuple[str, ...]]:
    """In waves, a step waits for every step of the waves before its own that has `begun`."""
    earlier: tuple[str, ...] = ()
    barriers: dict[str, tuple[str, ...]] = {}
    for wave in waves({entry.uid: before(entry) for entry in checked if entry.uid in begun}):
        barriers |= dict.fromkeys(wave, earlier)
        earlier += wave
    return barriers
