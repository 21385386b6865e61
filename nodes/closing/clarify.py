"""clarify: end the run with the planner's questions; the next message on the thread answers them."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from planwright.execution.run_account import DONE, account_of_run
from planwright.models.conversation.final_text import phrase
from planwright.presentation.answering import answer_from_results
from planwright.records.stores import Stores
from planwright.state.agent_state import AgentState, AgentUpdate, plan_of
from planwright.state.node import Node

SAY_IT_ALL = "(The embedded planner does not put two messages together: answer with the whole request.)"


def clarify(stores: Stores) -> Node[AgentState, AgentUpdate]:
    """Tell what was done before, if anything was, and ask what is meant."""

    async def clarify(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        plan = plan_of(state)
        account = await account_of_run(state, stores)
        questions = phrase(plan.steps[-1].params.get("questions"))
        lines = [
            answer_from_results(account.results),
            questions,
            SAY_IT_ALL if state["route"].embedded else "",
        ]
        new_status = "needs_input" if account.status in DONE else account.status
        return {"answer": "\n".join(line for line in lines if line), "status": new_status}

    return clarify
