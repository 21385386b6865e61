"""Waiting at a gate, for the plan as for a single step.

The decision row of the gate itself is trusted, never the value that `interrupt()` returns: a
scalar answer left over from another gate of the same superstep would otherwise open this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import NotRequired, get_args

from langgraph.types import interrupt
from pydantic import JsonValue
from typing_extensions import TypedDict

from planwright.approvals.cards import Card
from planwright.approvals.gate_words import describe_call, describe_gate
from planwright.approvals.response_schema import RESPONSE_SCHEMA, response_schema
from planwright.records.consent.approval_scope import ScopeDuration
from planwright.records.consent.gate import Gate, GateAnswer, GateKind, decision_data, request_data
from planwright.records.consent.gates import Gates
from planwright.settings.settings import Settings
from planwright.state.invocation import Invocation

_INBOX_WORDS: dict[GateAnswer, str] = {
    "approve": "accept",
    "edit": "edit",
    "respond": "respond",
    "reject": "ignore",
}


class ActionRequest(TypedDict):
    """One action that a gate asks for, as LangChain's ActionRequest."""

    name: str
    """Name of what is called; `approve_plan` for a plan."""
    args: dict[str, JsonValue]
    """Arguments of it."""
    description: str
    """What is asked, in a sentence."""
    arguments: NotRequired[dict[str, JsonValue]]
    """Beside the first: arguments of all, for Agent Inbox, which reads the first alone, and this key."""


class ReviewConfig(TypedDict):
    """Which answers an action takes, as LangChain's ReviewConfig."""

    action_name: str
    """Name of the action."""
    allowed_decisions: list[GateAnswer]
    """Answers that it takes."""


class InboxRequest(TypedDict):
    """What a gate asks for, as `ActionRequest` of LangGraph's HumanInterrupt."""

    action: str
    """Name of what is called, or names of all that are."""
    args: dict[str, JsonValue]
    """Arguments of it; of several calls those of each, by its number and name."""


class PagePrompt(TypedDict):
    """What pages read of an interrupt: LangChain's HITLRequest and LangGraph's HumanInterrupt, and an id."""

    action_requests: list[ActionRequest]
    """Actions that are asked for."""
    review_configs: list[ReviewConfig]
    """Answers that they take."""
    action_request: InboxRequest
    """All that is asked for, in the form of LangGraph's Agent Inbox."""
    config: dict[str, bool]
    """Answers that it takes, in that form."""
    description: str
    """What is asked, in a sentence."""
    gate_id: str
    """Id of the gate."""


class GatePrompt(PagePrompt):
    """What the interrupt of one gate asks, with our keys."""

    kind: GateKind
    """What it asks about."""
    shown: Card
    """All that a person is shown."""
    run_id: str
    """Run that waits for the answer."""
    thread_id: str
    """Thread of that run."""
    plan_hash: str
    """Hash that an answer may name."""
    expires_at: str
    """When it closes by itself: UTC, in ISO 8601."""
    channel: str | None
    """Door that the run came through."""
    remember: NotRequired[list[str]]
    """How widely an approval may hold, where it may hold for more than this once."""
    shown_later: NotRequired[list[str]]
    """Steps that ask again once their values are known; an approval may say that they need not (`unseen`)."""
    undeclared: NotRequired[list[str]]
    """Tools on the card that say nothing of what they may do; an approval may say it for good."""
    width: NotRequired[list[str]]
    """How far an approval for the rest of the run goes, in words."""
    approvals: NotRequired[list[str]]
    """Who has approved so far, where several people have to."""
    refused: NotRequired[str]
    """Why the answer before was not taken."""


@dataclass(frozen=True)
class GateQuestion:
    """What a gate asks, before it is open."""

    gate_id: str
    """Id of the gate."""
    card: Card
    """All that a person is shown."""
    shown_hash: str
    """Hash that an answer may name: of the plan, or of the card."""
    kind: GateKind = "plan"
    """What it asks about."""
    step_uid: str | None = None
    """Uid of the step that it asks about; None for a plan or a whole run."""
    expires_s: float | None = None
    """Seconds until it closes by itself; None for what the caller or the settings say."""


def open_gate(invocation: Invocation, settings: Settings, question: GateQuestion) -> Gate:
    """Make the row of a gate that opens now and closes by itself."""
    now = invocation.clock()
    ttl: float = invocation.context.gate_ttl_s or settings.sessions.gate_ttl_s
    if invocation.context.gate_ttl_s and question.step_uid is not None:
        ttl = min(ttl, settings.approval.tool_timeout_s)  # somebody sits there and waits
    return Gate(
        gate_id=question.gate_id,
        thread_id=invocation.thread_id,
        run_id=invocation.run_id,
        tenant=invocation.context.tenant,
        kind=question.kind,
        step_uid=question.step_uid,
        shown_hash=question.shown_hash,
        card=question.card,
        requested_at=now,
        expires_at=now + timedelta(seconds=question.expires_s or ttl),
        status="open",
        channel=invocation.context.channel,
    )


async def wait_for_decision(gates: Gates, gate_id: str, invocation: Invocation) -> Gate:
    """Interrupt until the gate's row says how it was decided, and return the row.

    An edit resolves nothing: the plan it makes is asked for again.
    """
    refused = ""
    while (gate := await gates.read(gate_id)).status == "open":
        _emit_approvals(gate, invocation)
        tools = tuple(gate.undeclared)
        schema = (
            RESPONSE_SCHEMA
            if gate.kind == "plan" and len(gate.allowed) == 4 and not tools and not gate.shown_later
            else response_schema(
                *gate.allowed,
                most=len(gate.calls),
                doubts=len(gate.doubts),
                undeclared=tools,
                unseen=bool(gate.shown_later),
                edits=_tools(gate) if gate.kind == "step" else (),
                amount=gate.kind == "limit",
            )
        )
        prompt = gate_prompt(gate)
        if refused:
            prompt["refused"] = refused
        answer = interrupt(prompt, response_schema=schema)
        if invocation.answered is not None:
            refused = await invocation.answered(gate, answer)
    emit_decision(gate, invocation)
    return gate


def _tools(gate: Gate) -> list[str]:
    """Name the tools of the calls of a gate, each once."""
    return list(dict.fromkeys(str(call["capability"]) for call in gate.calls))


def emit_request(gate: Gate, invocation: Invocation) -> None:
    """Tell that a gate was opened, once."""
    invocation.emit("approval_requested", request_data(gate), gate.gate_id)


def emit_decision(gate: Gate, invocation: Invocation) -> None:
    """Tell how a gate was decided, once, and before it that it was opened, where nobody has yet."""
    emit_request(gate, invocation)
    if gate.status != "edited" and invocation.emit("approval_resolved", decision_data(gate), gate.gate_id):
        trace_gate(gate, invocation)


def trace_gate(gate: Gate, invocation: Invocation) -> None:
    """Span the time that a gate was open, now that it is decided."""
    closed = gate.decided_at or invocation.clock()
    invocation.spans.gate(gate.gate_id, gate.kind, gate.status, gate.requested_at, closed)


def _emit_approvals(gate: Gate, invocation: Invocation) -> None:
    """Tell of each approval that did not open the gate yet."""
    for count, approval in enumerate(gate.approvals, 1):
        data = {"gate_id": gate.gate_id, "by": approval.by, "channel": approval.channel}
        invocation.emit(
            "approval_given", {**data, "given": count, "of": gate.quorum}, f"{gate.gate_id}:{count}"
        )


def gate_prompt(gate: Gate) -> GatePrompt:
    """Phrase a gate in the forms of LangChain's middleware and of LangGraph's inbox, our keys beside them."""
    actions = _actions(gate)
    names = dict.fromkeys(action["name"] for action in actions)
    prompt: GatePrompt = {
        "action_requests": actions,
        "review_configs": [{"action_name": name, "allowed_decisions": list(gate.allowed)} for name in names],
        "action_request": in_one(actions),
        "config": {f"allow_{word}": answer in gate.allowed for answer, word in _INBOX_WORDS.items()},
        "description": "\n".join(action["description"] for action in actions),
        "gate_id": gate.gate_id,
        "kind": gate.kind,
        "shown": gate.card,
        "run_id": gate.run_id,
        "thread_id": gate.thread_id,
        "plan_hash": gate.answer_hash,
        "expires_at": gate.expires_at.isoformat(),
        "channel": gate.channel,
    }
    if gate.may_be_remembered:
        prompt["remember"] = list(get_args(ScopeDuration))
    if gate.undeclared:
        prompt["undeclared"] = list(gate.undeclared)
    if gate.shown_later:
        prompt["shown_later"] = list(gate.shown_later)
    if words := _width(gate):
        prompt["width"] = words
    if gate.quorum > 1:
        prompt["approvals"] = [approval.by for approval in gate.approvals]
    return prompt


def _actions(gate: Gate) -> list[ActionRequest]:
    """List what is asked for: the plan, or each call that the gate shows."""
    if gate.kind == "plan":
        return [{"name": "approve_plan", "args": {"plan": gate.card}, "description": describe_gate(gate)}]
    if len(gate.calls) == 1:
        args = _arguments(gate.card) | ({"effects": gate.card["effects"]} if gate.doubts else {})
        return [{"name": str(gate.card["capability"]), "args": args, "description": describe_gate(gate)}]
    return [
        {"name": str(call["capability"]), "args": _arguments(call), "description": describe_call(call)}
        for call in gate.calls
    ]


def in_one(actions: list[ActionRequest]) -> InboxRequest:
    """Put all actions into one, as inboxes show them: by itself, and its arguments beside the first."""
    args: dict[str, JsonValue] = {
        f"{n} {action['name']}": {**action["args"]} for n, action in enumerate(actions, 1)
    }
    if len(actions) == 1:
        args = actions[0]["args"]
    actions[0]["arguments"] = {name: value for name, value in args.items() if value is not None}
    return {"action": " + ".join(action["name"] for action in actions), "args": args}


def inbox_request(prompt: PagePrompt) -> InboxRequest:
    """Find what Agent Inbox shows of a gate, and sends back with an accept: the first, by `arguments`."""
    first = prompt["action_requests"][0]
    return {"action": first["name"], "args": first["arguments"]}


def _arguments(call: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Read the arguments of a call, by their names; inboxes show one a line."""
    args = call["args"]
    return args if isinstance(args, dict) else {"args": args}


def _width(gate: Gate) -> list[str]:
    """Say in words how far an approval for the rest of the run goes, call by call."""
    if not gate.may_be_remembered:
        return []
    widths = (call.get("width") for call in gate.calls)
    return [str(width["words"]) for width in widths if isinstance(width, dict)]
