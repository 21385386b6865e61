"""What the steps of a run did, with which values: for who plans or answers from it, and for its thread."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from langchain_core.messages import AnyMessage
from pydantic import JsonValue

from planwright.domain.errors import CapabilityRejected
from planwright.domain.references import resolve
from planwright.domain.results import StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.execution.recorded_result import full_output
from planwright.models.conversation.call_arguments import wire_name
from planwright.models.conversation.thread_messages import as_call, is_of_run
from planwright.models.conversation.truncation import shorten
from planwright.records.effects.undos import PastEffect
from planwright.records.effects.work_records import RunWork
from planwright.records.stores import Stores
from planwright.records.whole_results import ref_of
from planwright.state.agent_state import AgentState

CLIP_TEXT, CLIP_LIST = 1500, 20


@dataclass(frozen=True)
class StepAccount:
    """One step that has ended, as the records tell it."""

    entry: VerifiedStep
    """The step as it was verified."""
    result: StepResult
    """How it ended."""
    params: Mapping[str, JsonValue]
    """The values that its call was made with, as far as they are known."""
    output: JsonValue
    """Its whole output; None where it brought nothing."""
    effects: tuple[PastEffect, ...] = ()
    """What the calls of its model, or of its chain, have changed, or may have."""


async def step_accounts(
    entries: Iterable[VerifiedStep], results: Mapping[str, StepResult], stores: Stores, run_id: str
) -> list[StepAccount]:
    """Read what became of those steps that have ended, in their order."""
    ended = [entry for entry in entries if entry.uid in results]
    if not ended:
        return []
    outputs = {
        uid: await full_output(stores, result)
        for uid, result in results.items()
        if result.status == "completed"
    }
    past, work = dict[str, PastEffect](), RunWork()
    if any(entry.effect != "pure" for entry in ended):
        past = {effect.key: effect for effect in await stores.undos.effects_of(run_id)}
        work = await stores.work.of_run(run_id)
    accounts = []
    for entry in ended:
        effects = [past[row.key] for row in work.under(entry.uid) if row.key in past]
        by_model = entry.step.agentic or entry.chain is not None
        own = None if by_model else next((effect for effect in reversed(effects)), None)
        result = results[entry.uid]
        params = own.args if own else await _params(entry, result, results, outputs, stores)
        inner = tuple(effects) if by_model else ()
        accounts.append(StepAccount(entry, result, params, outputs.get(entry.uid), inner))
    return accounts


async def _params(
    entry: VerifiedStep,
    result: StepResult,
    results: Mapping[str, StepResult],
    outputs: Mapping[str, JsonValue],
    stores: Stores,
) -> Mapping[str, JsonValue]:
    """Find the values of a call without an effect: as they were recorded, or as they stand in the plan."""
    if result.args is not None:
        return result.args
    if result.args_blob is not None:
        loaded: dict[str, JsonValue] = json.loads(await asyncio.to_thread(stores.blobs.get, result.args_blob))
        return loaded
    params = dict(entry.step.params)
    scope: dict[str, JsonValue] = {
        "steps": {results[uid].step_id: {"output": outputs[uid]} for uid in entry.needs if uid in outputs}
    }
    with contextlib.suppress(CapabilityRejected):  # a step that failed may refer to what is not there
        resolved = resolve(params, scope, later=("input",))
        return resolved if isinstance(resolved, dict) else params
    return params


def describe_step(account: StepAccount, why: str = "") -> dict[str, JsonValue]:
    """Tell a model of one step: what it called with which values, and what that brought, clipped.

    `why` says what the critic had against a step that has ended well.
    """
    step, result = account.entry.step, account.result
    call: dict[str, JsonValue] = {"capability": result.capability, "params": dict(account.params)}
    if step.agentic:
        call = {"description": step.description}
    if result.instead_of:
        call |= {"instead_of": result.instead_of}
    if result.note:
        call |= {"note": result.note}
    if result.status != "completed":
        call |= {"status": result.status, "error": result.error}
    elif account.output is not None:
        call |= {"output": account.output}
    changes: list[JsonValue] = [_effect(effect) for effect in account.effects]
    fields = {"id": step.id, **call, **({"changed": changes} if changes else {})}
    clipped = clip({**fields, **({"not_accepted": why} if why else {})})
    return clipped if isinstance(clipped, dict) else {}


def clip(value: JsonValue, text: int = CLIP_TEXT, items: int = CLIP_LIST) -> JsonValue:
    """Shorten long texts and lists, so that a result stays valid JSON of a bounded size."""
    if isinstance(value, str):
        return value if len(value) <= text else value[:text].rsplit(" ", 1)[0] + " […]"
    if isinstance(value, list):
        more: list[JsonValue] = [f"[… {len(value) - items} more]"] if len(value) > items else []
        return [*(clip(item, text, items) for item in value[:items]), *more]
    if isinstance(value, dict):
        return {key: clip(item, text, items) for key, item in value.items()}
    return value


def _effect(effect: PastEffect) -> dict[str, JsonValue]:
    """Tell of one effect; of one that nobody heard of, that it may have happened."""
    fields: dict[str, JsonValue] = {"capability": effect.capability, "params": effect.args}
    return fields | (
        {"output": effect.result} if effect.certain else {"status": "nobody knows if it happened"}
    )


async def calls_of_run(state: AgentState, stores: Stores, limit: int) -> list[AnyMessage]:
    """List the calls of a run and their results, in order: of its loop, or of its plan."""
    of_loop = [message for message in state.get("calls", []) if is_of_run(message, state["run_id"])]
    return [*of_loop, *await step_messages(state, stores, limit)]


async def step_messages(state: AgentState, stores: Stores, limit: int) -> list[AnyMessage]:
    """Tell of each step that has ended, its result in at most `limit` characters and whole by reference."""
    if not state.get("results"):
        return []
    run_id = state["run_id"]
    results = {result.uid: result for result in await stores.ledger.settled_steps(run_id)}
    entries = {entry.uid: entry for entry in await stores.plans.steps_of_run(run_id)}
    ended = [entries[uid] for uid in results if uid in entries]
    accounts = await step_accounts(ended, results, stores, run_id)
    return [message for account in accounts for message in _step(account, run_id, limit)]


def _step(account: StepAccount, run_id: str, limit: int) -> list[AnyMessage]:
    step, result, described = account.entry.step, account.result, describe_step(account)
    args: dict[str, object] = {"task": step.description} if step.agentic else dict(account.params)
    output: JsonValue = account.output
    if "changed" in described:
        output = {"output": output, "changed": described["changed"]}
    ok = result.status == "completed"
    text = shorten(output, limit, ref_of(result.blob) if result.blob else "")
    if not ok:
        text = shorten(f"{result.status}: {result.error}", limit)
    return as_call(run_id, wire_name(str(result.capability)), args, account.entry.uid, text, ok=ok)
