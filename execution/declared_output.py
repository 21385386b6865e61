"""The output of a step that declares what it returns: read from the last words of its model, mended once."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import JsonValue

from planwright.domain.declared_returns import Schema, as_declared
from planwright.domain.errors import LimitExceeded, ModelError, ModelOutputInvalid
from planwright.domain.results import StepResult
from planwright.domain.step_ends import bare_result
from planwright.models.calling import Models
from planwright.models.json_reply import read_json
from planwright.models.model_calls import Prompt
from planwright.prompts import render, section
from planwright.state.agent_state import ModelRoute, StepTask
from planwright.state.invocation import Invocation

T = TypeVar("T")
Ask = Callable[[str, ModelOutputInvalid], Awaitable[str]]
"""Asks a model for another text in place of one, whose fault it is told."""


async def with_declared_output(
    result: StepResult, task: StepTask, route: ModelRoute, models: Models, invocation: Invocation
) -> StepResult:
    """Turn the words of a completed step into the fields that it declares; it fails where there are none.

    The step's model is asked once more, by the schema, where its words are not of that form.
    """
    checked = task["checked"]
    schema = checked.step.returns
    if result.status != "completed" or schema is None or not isinstance(result.output, dict):
        return result
    words = str(result.output["text"])

    async def ask(words: str, error: ModelOutputInvalid) -> str:
        prompt = _prompt(checked.step.description, words, error, schema)
        return await models.complete(route, prompt, invocation, f"{checked.uid}:returns")

    try:
        output = await read_or_ask(words, lambda text: read_declared(text, schema), ask, 1)
    except (LimitExceeded, ModelError) as error:
        if await invocation.goes_on_after(error):
            return await with_declared_output(result, task, route, models, invocation)
        if isinstance(error, LimitExceeded):
            return _failed(result, task, "budget_exceeded", str(error))
        why = f"it did not return what it declares: {error.cause}"
        return _failed(result, task, "model", why)
    return result.model_copy(update={"output": output})


async def read_or_ask(text: str, read: Callable[[str], T], ask: Ask, attempts: int) -> T:
    """Read a value from a text, or from what a model answers that is told what was wrong with it.

    Raises ModelOutputInvalid where the last of the `attempts` could not be read, either.
    """
    for _ in range(attempts):
        try:
            return read(text)
        except ModelOutputInvalid as error:
            text = await ask(text, error)
    return read(text)


def read_declared(text: str, schema: Schema) -> dict[str, JsonValue]:
    """Read the fields of a reply. Raises ModelOutputInvalid, saying which is wrong."""
    value, _ = read_json(text)
    try:
        output = as_declared(value, schema)
    except ValueError as error:
        raise ModelOutputInvalid(str(error), "answer with the form that is declared") from error
    return output if isinstance(output, dict) else {}


def _prompt(task: str, words: str, error: ModelOutputInvalid, schema: Schema) -> Prompt:
    message = [section("task", task), section("words", words, foreign=True), section("wrong", error.cause)]
    system = render("returns", form=json.dumps(schema, ensure_ascii=False))
    return Prompt("returns", system, "".join(message), schema=schema)


def _failed(result: StepResult, task: StepTask, code: str, why: str) -> StepResult:
    failed = bare_result(task["checked"], "failed", code=code, error=why)
    return failed.model_copy(update={"envelope": result.envelope})
