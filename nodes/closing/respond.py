"""respond: tell the user what came of it, from the results and from nothing else."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from pydantic import JsonValue

from planwright.checkpoints.effects.refusals import RefusedCall, ends_with
from planwright.checkpoints.stores import Stores
from planwright.domain.errors import ContextOverflow, LimitExceeded, ModelError, ModelInterrupted
from planwright.domain.results import RunStatus, StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.execution.recorded_result import full_output
from planwright.models.calling import Models
from planwright.models.conversation.final_text import NOTHING, part
from planwright.models.model_calls import Prompt
from planwright.models.offline.answering import answer_from_results
from planwright.nodes.closing.score import final_status
from planwright.prompts import as_data, render
from planwright.state.agent_state import AgentState, AgentUpdate
from planwright.state.invocation import invocation_of
from planwright.state.node import Node, ended_by

CLIP_TEXT, CLIP_LIST = 1500, 20
BRIEFLY = (200, 5)
DONE = ("completed", "completed_with_skips")


def respond(models: Models, stores: Stores) -> Node[AgentState, AgentUpdate]:
    """Write the answer with one model call; when that fails or is cut off, the results speak for themselves.

    Where there are none, a run without a whole answer has failed.
    """

    async def respond(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        invocation = invocation_of(config)
        described = await described_results(state, stores)
        status, refused = await run_outcome(state, stores, described, invocation.run_id)
        if status == "cancelled":
            return {
                "answer": f"Cancelled by {invocation.cancelled_by}.\n{answer_from_results(described)}",
                "status": status,
            }

        async def ask(results: list[dict[str, JsonValue]]) -> str:
            worded = [without_defaults(result) for result in results]
            message = render("respond_results", request=as_data(state["request"]), results=as_data(worded))
            prompt = Prompt(role="respond", system=render("respond"), user=message, aloud=True)
            return await models.complete(state["route"], prompt, invocation, "respond")

        async def words() -> str:
            try:
                return await ask(described)
            except ContextOverflow:
                return await ask([entry | {"output": clip(entry["output"], *BRIEFLY)} for entry in described])

        try:
            text = await words()
        except ModelError as error:
            if not described:
                return {"answer": without_words(error), "status": "failed"}
            unworded = f"(The model could not put this into words: {error.cause})"
            text = f"{answer_from_results(described)}\n{unworded}"
        except LimitExceeded as error:
            if not described:
                raise
            return {"answer": f"{error}\n{answer_from_results(described)}", "status": ended_by(error)}
        if not text.strip() and not described:
            return {"answer": NOTHING, "status": "failed"}
        text = text if text.strip() else answer_from_results(described)
        if not state["route"].embedded:  # that one tells of every result by itself
            rejected = answer_from_results([entry for entry in described if entry["status"] == "rejected"])
            text = "\n".join(filter(None, [*(map(str, refused) if refused else [rejected]), text]))
        return {"answer": text, "status": status}

    return respond


def without_words(error: ModelError) -> str:
    """Say why there is no answer; what was heard of one is told as a part."""
    return part(error.partial, error.cause) if isinstance(error, ModelInterrupted) else str(error)


async def described_results(state: AgentState, stores: Stores) -> list[dict[str, JsonValue]]:
    """Describe the results of a run's plan, in the order of its steps."""
    checked, results = state.get("checked", []), state.get("results", {})
    pairs = [(entry, results[entry.uid]) for entry in checked if entry.uid in results]
    return [tell(entry, result, checked, await full_output(stores, result)) for entry, result in pairs]


async def run_outcome(
    state: AgentState, stores: Stores, described: list[dict[str, JsonValue]], run_id: str
) -> tuple[RunStatus, list[RefusedCall]]:
    """Name how a run ends, and list what was refused where nothing else but reading was done."""
    if not (state["decision"].planned or described):
        return "completed", []
    all_results = state.get("results", {})
    results = {
        entry.uid: all_results[entry.uid] for entry in state.get("checked", []) if entry.uid in all_results
    }
    status = final_status(results, state.get("verdict"))
    refused = await stores.refusals.of_all_effects(run_id) if status in DONE else []
    return (ends_with(refused), refused) if refused else (status, [])


def tell(
    entry: VerifiedStep, result: StepResult, checked: list[VerifiedStep], output: JsonValue
) -> dict[str, JsonValue]:
    """Describe one result to the model that writes the answer."""
    return {
        "id": result.step_id,
        "capability": result.capability,
        "description": entry.step.description,
        "status": result.status,
        "output": clip(output) if result.status == "completed" else None,
        "error": result.error,
        "changed": entry.effect != "pure",
        "used": any(feeds(entry, other) for other in checked),
    }


def without_defaults(result: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Leave out of a result what goes without saying: its id, that it ended well and changed nothing."""
    usual: dict[str, JsonValue] = {"description": "", "status": "completed", "error": "", "changed": False}
    usual |= {"used": False, "id": result["id"]}
    return {key: value for key, value in result.items() if key not in usual or value != usual[key]}


def feeds(entry: VerifiedStep, other: VerifiedStep) -> bool:
    """Say whether a step works with the result of another one, and does not only come after it."""
    if entry.uid not in other.needs:
        return False
    named = entry.step.id in other.step.references or entry.step.key in other.step.inputs
    return named or other.step.agentic


def clip(value: JsonValue, text: int = CLIP_TEXT, items: int = CLIP_LIST) -> JsonValue:
    """Shorten long texts and lists, so that a result stays valid JSON of a bounded size."""
    if isinstance(value, str):
        return value if len(value) <= text else value[:text].rsplit(" ", 1)[0] + " […]"
    if isinstance(value, list):
        return [clip(item, text, items) for item in value[:items]]
    if isinstance(value, dict):
        return {key: clip(item, text, items) for key, item in value.items()}
    return value
