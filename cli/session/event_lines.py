"""The lines of a run while it happens: pure functions from an event to what rich can print."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.text import Text

from planwright.cli.views.plan_card import plan_view
from planwright.cli.views.printable import Hanging, one_line, pad
from planwright.cli.views.rendering import (
    label,
    limit_text,
    run_estimate_text,
    usage,
)
from planwright.domain.hashing import json_text
from planwright.domain.results import format_end
from planwright.domain.risk import at_least
from planwright.presentation.rows import EventData, RunEvent


def event_line(event: RunEvent, *, verbose: bool = True, models: bool = True) -> RenderableType | None:
    """Show an event of a run while it happens; None for those that have no line of their own.

    Without `models` nothing is said of tokens: the embedded planner has none.
    """
    if verbose and models and event["data"].get("cached_tokens"):
        return _cached(event["data"])
    return _line(event, verbose=verbose, models=models)


def _line(event: RunEvent, *, verbose: bool, models: bool) -> RenderableType | None:
    data = event["data"]
    match event["type"]:
        case "run_start" if "undoes" in data:
            return label("undo", f"of {data['undoes']}")
        case "run_start" if "forked_from" in data:
            return label("fork", _fork(data))
        case "run_start" if data.get("agent"):
            return label("agent", data["agent"])
        case "planning_decision":
            return label("planning", _planning(data))
        case "plan_verified":
            return _verified(data, verbose, models)
        case "plan_repaired":
            return label("repair", f"the planner's reply was refused: {data['error']}", "yellow")
        case "approval_given":
            return label("gate", f"approved by {data['by']}: {data['given']} of {data['of']} approvals")
        case "approval_resolved":
            reason = f": {data['reason']}" if data.get("reason") else ""
            by = f" by {data['by']}" if data["by"] else ""
            return label("gate", f"{data['decision']}{by}{reason}")
        case "plan_edited":
            by = f" by {data['by']}" if data["by"] else ""
            return label("gate", f"edited{by}: revision {data['revision']}, to be verified and approved")
        case "loop_guard":
            return label("guard", f"{data['severity']}: {data['pattern']}, {data['times']} times", "yellow")
        case "failover":
            return label("model", failover_text(data), "yellow")
        case "model_routed":
            return label("model", routing_text(data), "yellow" if data["lacks"] else "dim")
        case "thinking":
            return label("model", f"{data['provider']} thinks: no word for {data['seconds']:g} s", "dim")
        case "structured_output":
            switch = f"{data['provider']} refused {data['refused']}: trying {data['next']}"
            return label("model", f"{switch} ({data['cause']})", "yellow")
        case "provider_data_dropped":
            subject = f"what {data['provider']} wants back of a reply is not kept"
            return label("model", f"{subject}: {data['cause']}", "yellow")
        case "memory_accepted":
            return label("memory", f"remembered as {data['memory_id']} ({data['id']})", "green")
        case "memory_failed":
            subject = f"{data['id']} stays proposed" if "id" in data else "the model proposes nothing"
            return label("memory", f"{subject}: {data['cause']}", "yellow")
        case "progress":
            return label("progress", f"turn {data['turn']} of at most {data['of']}")
        case "verdict":
            return label("verdict", f"{data['verdict']}: {data['reason']}")
    return _spent(event, models) or _step_line(event)


def _spent(event: RunEvent, models: bool) -> RenderableType | None:
    """Show an event of what was used, or was thought to be."""
    data = event["data"]
    match event["type"]:
        case "budget_update" if "limit" in data:
            return label("budget", limit_text(data), "yellow")
        case "budget_update" if models:
            return label("usage", usage(data))
        case "run_end" if models and data.get("estimated"):
            return label("estimated", run_estimate_text(data["estimated"]))
    return None


def is_detail(event: RunEvent) -> bool:
    """Say whether the line of an event is left out unless all detail is wanted."""
    data = event["data"]
    match event["type"]:
        case "planning_decision" | "plan_repaired" | "structured_output" | "progress" | "run_end":
            return True
        case "thinking":
            return True
        case "plan_step_start":
            return True
        case "budget_update":
            return "limit" not in data
        case "model_routed":
            return not data["lacks"]
        case "verdict":
            return bool(data["verdict"] == "accept")
        case "failover":
            return bool(data["move"] == "end")  # the answer says why, or does without
        case "plan_verified":
            return bool(data.get("plan") and not data["plan"]["steps"])
        case "tool_call_start":
            return not at_least(data.get("risk", "None"), "Medium")
    return False


def repeats(event: RunEvent, failures: Iterable[str]) -> bool:
    """Say whether a verdict tells only why a step failed, which its own line says."""
    data = event["data"]
    if event["type"] != "verdict" or data["verdict"] != "escalate":
        return False
    reason = one_line(data["reason"])
    return any(why and reason.endswith(f": {why.removeprefix('failed: ')}") for why in failures)


def is_aside(event: RunEvent) -> bool:
    """Say whether the line of an event is left out of a conversation: its answer tells as much."""
    data = event["data"]
    match event["type"]:
        case "plan_step_complete" | "approval_resolved" | "approval_given":
            return True
        case "plan_verified":
            return bool(data["outcome"] == "ok")
        case "tool_call_end":
            return bool(data["status"] == "completed")
        case "run_start":
            return True
    return is_detail(event)


def _step_line(event: RunEvent) -> RenderableType | None:
    """Show an event of a step, or of a call of an agent."""
    data = event["data"]
    match event["type"]:
        case "plan_step_start":
            return _step("…", data, "started", "dim")
        case "plan_step_complete":
            brought = f": {data['brought']}" if data.get("brought") else ""
            return _step("✓", data, f"done in {data['seconds']:.2f} s{brought}", "green")
        case "plan_step_failed":
            return _step("✗", data, format_end("failed", data["error"], data.get("code", "")), "red")
        case "plan_step_skipped":
            return _step("-", data, format_end(data["status"], data["error"]), "yellow")
        case "plan_step_retry" if "approach" in (data.get("alternative") or ()):
            return _step("↻", data, f"{data['error']}; trying again in another way", "yellow")
        case "plan_step_retry" if other := data.get("alternative"):
            instead = f"{other['capability']} {json_text(other['params'])}"
            return _step("↻", data, f"{data['error']}; trying {instead} instead", "yellow")
        case "plan_step_retry":
            key = str(data["idempotency_key"])[:12]
            return _step("↻", data, f"{data['error']}; trying again under the same key {key}…", "yellow")
        case "effect_lookup":
            outcomes = {"found": "it has happened", "absent": "it has not happened"}
            return _step("?", data, f"looked up: {outcomes.get(data['outcome'], data['error'])}", "yellow")
        case "tool_call_start":
            args = json_text(data["args"])
            cut = len(args) > 80 and not at_least(data.get("risk", "None"), "Medium")
            return _call("…", data, f"{args[:79]}…" if cut else args, "dim")
        case "tool_call_end" if data["status"] == "completed":
            return _call("✓", data, f"done in {data['seconds']:.2f} s", "green")
        case "tool_call_end":
            return _call("✗", data, format_end(data["status"], data["error"], data.get("code", "")), "red")
    return None


def failover_text(data: EventData) -> str:
    """Say how a model call failed, and what was done about it."""
    onward = {
        "next_key": "trying the next key",
        "wait": f"trying again after {data['wait_s']:g} s",
        "next_provider": f"trying {data['next']}",
        "end": "nobody else is asked",
    }
    return f"{data['cause']}; {onward[data['move']]}"


def routing_text(data: EventData) -> str:
    """Say which model does a step with a hint, or the request, and why where it lacks something."""
    subject = f"step {data['step_id']}" if data["step_id"] else "the request"
    text = f"{subject} is done by {data['provider']}/{data['model']}"
    lacking = f" without {', '.join(data['lacks'])}" if data["lacks"] else ""
    reasons = {"chosen": "chosen for the whole run", "fallback": "for nobody fits better"}
    return f"{text}{lacking}, {reasons.get(data['why'], 'which has what it asks for')}"


def _fork(data: EventData) -> str:
    if not data["planned"]:
        return f"of {data['forked_from']}, which had no plan there: its request begins anew"
    keeps = f"keeps the results of {', '.join(data['kept'])}" if data["kept"] else "keeps no result"
    again = f"; does again what was done: {', '.join(data['again'])}" if data["again"] else ""
    return f"of {data['forked_from']}: {keeps}{again}"


def _planning(data: EventData) -> str:
    kind = "complex" if data["complex"] else "simple" if data["planned"] else "not planned"
    if data["agentic"]:
        kind = "simple, left to the model and its tools"
    why = ", ".join(data["signals"]) or "no signal"
    return f"{kind} (mode {data['mode']}, score {data['score']}: {why})"


def _cached(data: EventData) -> RenderableType:
    """Tell which share of what a model was sent its provider had in a cache."""
    share = data["cached_tokens"] / max(data["input_tokens"], 1)
    return label("model", f"{data['role']}: {data['input_tokens']:,} tokens sent, {share:.0%} from a cache")


def _verified(data: EventData, verbose: bool, models: bool) -> RenderableType:
    if data["outcome"] == "ok":
        if data.get("reads_first") and not verbose:
            return label(
                "plan", f"{len(data['plan']['steps'])} steps; what only reads runs first, then it asks"
            )
        if not verbose:
            return plan_view(data["plan"], models=models)
        checked = label("verified", "ok: every capability, argument, reference and dependency holds", "green")
        return Group(plan_view(data["plan"], whole=True, models=models), checked)
    findings = [f"{f['code']} [{f['step_id']}]: {f['message']} ({f['fix']})" for f in data["findings"]]
    return label("verified", f"{data['outcome']}: " + "; ".join(findings), "red")


def _call(mark: str, data: EventData, text: str, style: str) -> RenderableType:
    name = f"{pad(data['capability'], 19)} "
    return Hanging(Text.assemble((f"  {mark} ", style), (name, "bold"), (one_line(text), style)), 8)


def _step(mark: str, data: EventData, text: str, style: str) -> RenderableType:
    name = f"{pad(data['step_id'], 3)} {pad(data['capability'], 15)} "
    return Hanging(Text.assemble((f"  {mark} ", style), (name, "bold"), (one_line(text), style)), 8)
