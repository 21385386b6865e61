"""answer_value: put the answer of a run into the form that its caller wants, for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from pydantic import JsonValue

from planwright.capabilities.tools.schema_arguments import first_mistake
from planwright.domain.declared_returns import Schema
from planwright.domain.errors import ContextOverflow, LimitExceeded, ModelError, ModelOutputInvalid
from planwright.domain.results import RunStatus
from planwright.execution.declared_output import read_or_ask
from planwright.execution.step_accounts import calls_of_run
from planwright.models.calling import Models
from planwright.models.json_reply import read_json
from planwright.models.model_calls import Prompt
from planwright.prompts import render, section
from planwright.records.stores import Stores
from planwright.settings.settings import Settings
from planwright.state.agent_state import AgentState, AgentUpdate
from planwright.state.invocation import invocation_of
from planwright.state.node import Node

ATTEMPTS = 2  # of a model: the second one is told what was wrong with the first


def answer_value(models: Models, stores: Stores, settings: Settings) -> Node[AgentState, AgentUpdate]:
    """Read the typed answer from the words of the answer, or let a model write it from what is on record.

    A run whose answer does not follow the schema has failed: nobody can work with it.
    """

    async def answer_value(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        invocation, schema = invocation_of(config), state["answer_schema"] or {}
        calls = _results(await calls_of_run(state, stores, settings.tools.result_limit))

        def read(text: str) -> dict[str, JsonValue]:
            return read_answer_value(text, schema)

        async def ask(text: str, error: ModelOutputInvalid, results: Sequence[JsonValue] = calls) -> str:
            prompt = _prompt(state, schema, results)
            if text != state["answer"]:
                prompt = prompt.going_on(text, section("wrong", error.cause))
            try:
                return await models.complete(state["route"], prompt, invocation, "answer_value")
            except ContextOverflow:
                if not results:
                    raise
                return await ask(text, error, ())

        try:
            value = await read_or_ask(state["answer"], read, ask, ATTEMPTS)
        except (LimitExceeded, ModelError) as error:
            if await invocation.goes_on_after(error):
                return await answer_value(state, config)
            ends_as: RunStatus = "budget_exceeded" if isinstance(error, LimitExceeded) else "failed"
            missing = f"There is no typed answer, as `answer_schema` wants one: {error.cause}"
            return {"status": ends_as, "answer": f"{state['answer']}\n{missing}"}
        invocation.emit("answer_value", {"value": value}, "run")
        return {"answer_value": value}

    return answer_value


def read_answer_value(text: str, schema: Schema) -> dict[str, JsonValue]:
    """Read a value that follows a schema. Raises ModelOutputInvalid, saying where it does not."""
    value, _ = read_json(text)
    if mistake := first_mistake(schema, value):
        raise ModelOutputInvalid(mistake, "answer with one object that follows the schema")
    return value


def _prompt(state: AgentState, schema: Schema, results: Sequence[JsonValue]) -> Prompt:
    message = [
        section("request", state["request"]),
        section("results", results, foreign=True),
        section("words", state["answer"], foreign=True),
    ]
    system = render("answer_value", form=json.dumps(schema, ensure_ascii=False))
    return Prompt("answer_value", system, "".join(message), schema=schema)


def _results(messages: Sequence[AnyMessage]) -> list[JsonValue]:
    """Tell of each call what was called, with what, and what it returned."""
    args: dict[str, JsonValue] = {
        str(call["id"]): call["args"]
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    }
    return [
        {"capability": message.name, "params": args.get(message.tool_call_id), "output": message.text}
        for message in messages
        if isinstance(message, ToolMessage)
    ]
