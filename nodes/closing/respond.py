"""respond: tell the user what came of it, from the results and from nothing else."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from pydantic import JsonValue

from planwright.domain.errors import ContextOverflow, LimitExceeded, ModelError, ModelInterrupted
from planwright.execution.run_account import RunAccount, account_of_run, without_defaults
from planwright.execution.step_accounts import step_messages
from planwright.execution.surroundings import SurroundingsReader
from planwright.models.calling import Models
from planwright.models.conversation.answer import emit_messages
from planwright.models.conversation.call_arguments import wire_name
from planwright.models.conversation.final_text import NOTHING, part
from planwright.models.model_calls import Prompt
from planwright.models.replies.written_calls import written_call
from planwright.presentation.answering import answer_from_results
from planwright.prompts import instructed, section
from planwright.records.stores import Stores
from planwright.settings.settings import Settings
from planwright.state.agent_state import AgentState, AgentUpdate
from planwright.state.invocation import Invocation, invocation_of
from planwright.state.node import Node


def respond(
    models: Models, stores: Stores, surroundings: SurroundingsReader, settings: Settings
) -> Node[AgentState, AgentUpdate]:
    """Write the answer with one model call; when that fails or is cut off, the results speak for themselves.

    So they do where a model writes a call in its place. Where there are none, a run without a whole answer
    has failed.
    """

    async def respond(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        invocation, account = invocation_of(config), await account_of_run(state, stores)
        results, status, complete = account.results, account.status, bool(state["route"].embedded)
        await emit_messages(await step_messages(state, stores, settings.tools.result_limit), config)
        if status == "cancelled":
            answer = f"Cancelled by {invocation.cancelled_by}.\n{answer_from_results(results)}"
            return {"answer": answer, "status": status, "tells_deeds": True}
        if account.whole:
            return {"answer": account.whole, "status": status}

        try:
            text = await _words(models, state, account, surroundings, invocation)
        except (ModelError, LimitExceeded) as error:
            invocation.so_far = answer_from_results(results)
            if await invocation.goes_on_after(error):
                return await respond(state, config)
            if isinstance(error, LimitExceeded):
                text = f"{error}\n{answer_from_results(results)}" if results else str(error)
                return {"answer": text, "status": "budget_exceeded", "tells_deeds": bool(results)}
            if not results:
                return {"answer": without_words(error), "status": "failed"}
            complete = True
            unworded = f"(The model could not put this into words: {error.cause})"
            text = f"{answer_from_results(results)}\n{unworded}"
        called = [{"function": {"name": wire_name(str(entry["capability"]))}} for entry in results]
        text = "" if written_call(text, called) else text
        if not text.strip() and not results:
            return {"answer": NOTHING, "status": "failed"}
        if not text.strip():
            text, complete = answer_from_results(results), True
        if not state["route"].embedded:  # that one tells of every result by itself
            rejected = answer_from_results([entry for entry in results if entry["status"] == "rejected"])
            text = "\n".join(
                filter(None, [*(map(str, account.refused) if account.refused else [rejected]), text])
            )
        return {"answer": text, "status": status, "tells_deeds": complete}

    return respond


async def _words(
    models: Models,
    state: AgentState,
    account: RunAccount,
    surroundings: SurroundingsReader,
    invocation: Invocation,
) -> str:
    """Ask a model for the answer; again, with results told briefly, where they are more than it can read."""

    async def ask(results: list[dict[str, JsonValue]]) -> str:
        message = section("about", await surroundings(invocation)) + _message(state, account, results)
        system = instructed("respond", invocation.profile.instructions)
        prompt = Prompt("respond", system, message, aloud=True, timeout_s=None)
        return await models.complete(state["route"], prompt, invocation, "respond")

    try:
        return await ask(account.results)
    except ContextOverflow:
        return await ask(account.briefly())


def _message(state: AgentState, account: RunAccount, results: list[dict[str, JsonValue]]) -> str:
    """Spell what there is to answer from; what is empty is left out."""
    sections = [
        section("request", state["request"]),
        section("task", task if (task := state["task"].task) != state["request"] else ""),
        section("cannot", account.cannot),
        section("said", account.gate_answers),
        section("results", [without_defaults(result) for result in results], foreign=True),
    ]
    return "".join(sections)


def without_words(error: ModelError) -> str:
    """Say why there is no answer; what was heard of one is told as a part."""
    return part(error.partial, error.cause) if isinstance(error, ModelInterrupted) else str(error)
