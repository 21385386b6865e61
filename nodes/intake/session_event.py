"""session_event: open the journal of a run and clear what belonged to the one before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite
from pydantic import JsonValue

from planwright.domain.hashing import sha256
from planwright.domain.results import StepResult
from planwright.records.effects.ledger import Ledger
from planwright.records.forks import Fork, Forks
from planwright.state.agent_state import AgentState, AgentUpdate, Attempts, Task
from planwright.state.invocation import invocation_of
from planwright.state.node import Node


def session_event(forks: Forks, ledger: Ledger, versions: Mapping[str, str]) -> Node[AgentState, AgentUpdate]:
    """Record the user's message before anything is done about it; a fork takes over plan and results.

    `versions` are the hashes of all that decides how a run goes; they go on record with its beginning.
    """

    async def session_event(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        invocation = invocation_of(config)
        request = newest_request(state["messages"])
        context = invocation.context
        fork = await forks.of(invocation.run_id)
        retained = await ledger.settled_steps(invocation.run_id) if fork else []
        caller = {"tenant": context.tenant, "channel": context.channel}
        caller |= {"agent": context.agent} if context.agent else {}
        start: dict[str, JsonValue] = {**caller, **(origin(fork, retained) if fork else {})}
        snapshot = {"snapshot": context.snapshot} if context.snapshot else {}
        start["versions"] = {**versions, "profile": invocation.profile.hash, **snapshot}
        invocation.emit("run_start", start, "run")
        invocation.emit("user_message", {"content": request}, "run")
        inherited = taken_over(fork, retained) if fork else {}
        if plan := inherited.get("plan"):
            data = {"plan_id": plan.plan_id, "goal": plan.goal, "steps": len(plan.work), "repaired": False}
            invocation.emit("plan_created", {**data, "context_hash": inherited["context_hash"]}, "0")
        form = invocation.profile.answer_schema
        return {**cleared(invocation.run_id, request), "answer_schema": form, **inherited}

    return session_event


def cleared(run_id: str, request: str) -> AgentUpdate:
    """Make the state of a run that has just begun: of the one before it, the conversation stays alone."""
    return {
        "run_id": run_id,
        "request": request,
        "task": Task(task=request),
        "status": "running",
        "plan": None,
        "checked": [],
        "changes": [],
        "done": [],
        "draft": None,
        "findings": [],
        "attempts": Attempts(),
        "gate_id": "",
        "estimate": {},
        "shortlist": [],
        "results": instead_of_all({}),
        "verdict": None,
        "escalates": False,
        "reading": False,
        "executed": None,
        "answer": "",
        "answer_value": None,
        "tells_deeds": False,
        "calls": [],
    }


def newest_request(messages: list[AnyMessage]) -> str:
    """Read the text of the newest message of the user's."""
    human = [message for message in messages if message.type == "human"]
    return human[-1].text if human else ""


def origin(fork: Fork, retained: list[StepResult]) -> dict[str, JsonValue]:
    """Tell where a run comes from, and what it does not do again."""
    if fork.undo:
        return {"undoes": fork.source_run}
    if not fork.source_run:
        return {}
    return {
        "forked_from": fork.source_run,
        "checkpoint_id": fork.checkpoint_id,
        "planned": fork.plan is not None,
        "kept": [result.step_id for result in retained],
        "again": list(fork.again),
    }


def taken_over(fork: Fork, retained: list[StepResult]) -> AgentUpdate:
    """Begin with the plan and the results of a fork; it has to be verified and approved like any other."""
    if fork.plan is None:
        return {}
    plan_id = "plan_" + sha256([fork.run_id, fork.plan.plan_hash])[:12]
    plan = fork.plan.model_copy(update={"plan_id": plan_id, "revision": 1})
    results = {result.uid: result for result in retained}
    return {
        "plan": plan,
        "attempts": Attempts(plans=1, fixed=fork.fixed),
        "results": instead_of_all(results),
        "task": Task.model_validate(fork.task),
        "context_hash": fork.context_hash,
    }


def instead_of_all(results: dict[str, StepResult]) -> dict[str, StepResult]:
    """Take the place of all results of the thread, where an update would be joined with them."""
    return cast("dict[str, StepResult]", Overwrite(results))  # LangGraph takes it for any channel
