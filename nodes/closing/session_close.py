"""session_close: the closing half of session_event. The run row, the journal and the thread agree."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from planwright.approvals.gate import emit_decision
from planwright.domain.results import TERMINAL
from planwright.execution.run_account import DONE
from planwright.execution.step_accounts import calls_of_run
from planwright.models.conversation.answer import closing_message, emit_answer
from planwright.records.effects.run_deeds import accounted_answer
from planwright.records.stores import Stores
from planwright.settings.settings import Settings
from planwright.state.agent_state import AgentState, AgentUpdate
from planwright.state.invocation import invocation_of
from planwright.state.node import Node

CHANGED = "The state of this run was changed from outside before it had ended."


def session_close(stores: Stores, settings: Settings) -> Node[AgentState, AgentUpdate]:
    """Record the agent's message and how the run ended; its calls go before that into the conversation."""

    async def session_close(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        invocation = invocation_of(config)
        answer, status = state.get("answer", ""), state.get("status", "failed")
        run = await stores.runs.named(invocation.run_id)
        if run is not None and run.ended:  # cancelled from outside, or closed before a crash: so it stays
            status = run.status
        elif status not in TERMINAL and not (run and run.cancelled_by):
            answer, status = answer or CHANGED, "failed"
        elif status == "cancelled" or status not in TERMINAL:
            status = (run and run.ends_as) or invocation.ends_as  # asked a moment ago, and not heeded yet
        if run is not None and run.answer is not None:
            answer = run.answer  # it was told
        else:
            ended: AgentState = {**state, "answer": answer}
            answer = await accounted_answer(ended, status, invocation.run_id, stores)
        now = invocation.clock()
        for gate in await stores.gates.of_run(invocation.run_id):
            emit_decision(gate, invocation)  # of those that nobody waited for any more, too
        spent = await stores.budgets.spent_by(invocation.lease, now)
        calls = await calls_of_run(state, stores, settings.tools.result_limit)
        await emit_answer(stores.runs, answer, invocation, config)
        invocation.emit("budget_update", {**vars(spent)}, "run")
        used = {name: value for name, value in vars(spent).items() if name != "calls"}
        used["seconds"] = round(invocation.worked_s, 3)
        estimated = state.get("estimate", {}).get("run")
        if invocation.in_session:
            done = status in DONE
            invocation.emit("task_completed" if done else "task_failed", {"status": status}, "task")
        invocation.emit("run_end", {"status": status, "estimated": estimated, "used": used}, "run")
        stores.runs.end(invocation.lease, status, answer, now)
        update: AgentUpdate = {"messages": [*calls, closing_message(invocation, answer)], "calls": []}
        return {**update, "status": status, "answer": answer}

    return session_close
