"""What the page of a gate shows: what is asked with its real values, who may decide, and how far that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import get_args

from planwright.approvals.cards import SEEN
from planwright.domain.errors import EffectInDoubt
from planwright.domain.plan import AGENT
from planwright.extras.web import words
from planwright.extras.web.drawing.plan_picture import DrawnStep, draw_plan
from planwright.extras.web.view_models.breadth import BreadthChoice, breadth_choices
from planwright.extras.web.view_models.doubt_page import DoubtPage, doubt_page
from planwright.extras.web.view_models.step_outcome import StepOutcome, step_outcome
from planwright.extras.web.view_models.values import ValueRow, real_rows, value_rows
from planwright.presentation.figures import model_use_text, risk_text, work_text
from planwright.presentation.file_lines import file_lines, rewrite_texts
from planwright.presentation.plan_gates import gate_texts, planner_words, undo_text
from planwright.presentation.rows import Card
from planwright.presentation.step_sentence import step_sentence
from planwright.records.consent.approval_scope import TOOL_WORDS, ScopeDuration, ToolMay
from planwright.records.consent.approvers import approvers_of, excluded_words, requester_of
from planwright.records.consent.gate import Gate
from planwright.security.credentials import Caller

TITLES = {
    "plan": "Approve a plan",
    "step": "Approve a call",
    "info": "Answer a question",
    "limit": "Give a run more of a limit",
}


@dataclass(frozen=True)
class AskedCall:
    """One call that a gate asks about: a step of its plan, or a call of its own."""

    id: str
    """Id of its step; "" for a call of a model."""
    name: str
    """Name of what is called."""
    sentence: str
    """What it does, in the words of the capability."""
    reason: str
    """Why it asks; "" where its plan does."""
    risk: str
    """Risk of the call."""
    facts: Sequence[str]
    """Mode, risk and effect, in words."""
    values: Sequence[ValueRow]
    """Arguments: as planned, and their real values as far as they are known."""
    warnings: Sequence[str]
    """What to look at: letters that look like others, a call that was made before, text from outside."""
    notes: Sequence[str]
    """Gates of its own, what undoes it, how it is judged."""
    after: Sequence[str]
    """Ids of the steps that it waits for."""
    rewrites: Sequence[str] = ()
    """Files that it replaces, each with what will be different."""
    inner: Sequence[AskedCall] = ()
    """Calls of a chain."""
    done: str = ""
    """Run that has done it already; "" where it is still to be done."""
    brought: str = ""
    """What came of it, where it was read before anybody was asked; else ""."""


@dataclass(frozen=True)
class GatePage:
    """All that a page shows of a gate."""

    gate: Gate
    """The gate."""
    title: str
    """What is to be done, in a few words."""
    subject: str
    """Goal of the plan, or what the call is for."""
    risk: str
    """Risk of all that is asked."""
    facts: Sequence[tuple[str, str]]
    """What it comes to: calls, use of models, why it asks."""
    findings: Sequence[str]
    """What an edit or a re-plan has changed, and why a person is asked over a run."""
    outside: Sequence[str]
    """What a plan will change or send, one entry for each capability; empty for other gates."""
    calls: Sequence[AskedCall]
    """Calls that it asks about, in order."""
    read: Sequence[AskedCall]
    """Steps of the plan that were read before anybody was asked."""
    questions: Sequence[str]
    """Questions that it asks."""
    outcomes: Sequence[StepOutcome]
    """What came of each step, where the critic did not accept a run."""
    doubts: DoubtPage
    """Effects in doubt."""
    picture: str
    """The plan as an SVG; "" where there is none."""
    approvers: Sequence[str]
    """Who may approve; empty when anybody may."""
    approvals: Sequence[str]
    """Who has approved so far."""
    remember: Sequence[str]
    """How widely an approval may hold, where it may hold for more than this once."""
    undeclared: Sequence[str]
    """Tools that say nothing of what they may do: an approval may say it for good."""
    may: Mapping[ToolMay, str]
    """What may be said of them, in words."""
    width: Sequence[str]
    """How far such an approval goes, in words."""
    breadth: Sequence[BreadthChoice]
    """How an approval may hold for more calls than that, with the arguments on its card."""
    late: bool
    """Whether its time is up, so that it takes no answer."""
    waits_for: str
    """Why whoever looks cannot approve it; "" where they can."""


def gate_page(gate: Gate, caller: Caller, now: datetime) -> GatePage:
    """Lay out a gate for somebody who looks at it. Pure."""
    card = gate.card
    steps: Sequence[Card] = card.get("steps", ()) if gate.kind in ("plan", "escalation") else ()  # type: ignore[assignment]
    planned = steps if gate.kind == "plan" else ()
    calls = [_step(step, card) for step in planned] if gate.kind == "plan" else _calls(gate)
    return GatePage(
        gate=gate,
        title=_title(gate),
        subject=str(card.get("request") or card.get("description") or card.get("goal") or ""),
        risk=str(card.get("risk", "None")),
        facts=_facts(card, planned),
        findings=[*map(str, _list(card, "changes")), *_not_judged(card)],
        outside=[str(effect) for effect in _list(card, "outside")],
        calls=[call for call in calls if not call.brought],
        read=[call for call in calls if call.brought],
        questions=[str(question) for question in _list(_mapping(card.get("args")), "questions")],
        outcomes=[step_outcome(step, card) for step in steps if step.get("status") != EffectInDoubt.code]
        if gate.kind == "escalation"
        else (),
        doubts=doubt_page(gate.doubts),
        picture=draw_plan([_drawn(step, card) for step in planned]),
        approvers=approvers_of(card),
        approvals=[approval.by for approval in gate.approvals],
        remember=list(get_args(ScopeDuration)) if gate.may_be_remembered else (),
        undeclared=list(gate.undeclared),
        may=TOOL_WORDS,
        width=[str(_mapping(call.get("width")).get("words", "")) for call in gate.calls if call.get("width")],
        breadth=breadth_choices(gate),
        late=gate.expires_at <= now,
        waits_for=_waits_for(gate, caller),
    )


def _title(gate: Gate) -> str:
    if gate.doubts:
        return "Say what became of effects in doubt"
    return TITLES.get(gate.kind, "Decide over a run that was not accepted")


def _waits_for(gate: Gate, caller: Caller) -> str:
    """Say why somebody cannot approve; whether they really may is for the record to say."""
    if not caller.may("approve"):
        return f"only people who may approve decide; you may {', '.join(sorted(caller.rights))}"
    named = approvers_of(gate.card)
    if named and caller.person not in named and "channel:web" not in named:
        return f"only {', '.join(named)} may approve"
    if requester_of(gate.card) in ("", caller.person):
        return f"not for {excluded_words(gate.card)}"
    if any(approval.by == caller.person for approval in gate.approvals):
        return "you have approved it; somebody else has to, too"
    return ""


def _facts(card: Card, steps: Sequence[Card]) -> list[tuple[str, str]]:
    facts: list[tuple[str, str]] = [("work", work_text(steps))] if steps else []
    facts += [("goal", text) for text in planner_words(card)] if steps else []
    if estimate := _mapping(card.get("estimate")):
        facts.append(("models", model_use_text(estimate)))
    facts += [("revision", str(revision))] if (revision := card.get("revision")) else []
    words_of = (("why", card.get("reason")), ("not done", card.get("cannot")))
    facts += [("not by", excluded)] if (excluded := excluded_words(card)) else []
    facts += [(name, str(text)) for name, text in words_of if text]
    facts += [("after", str(decision)) for decision in _list(card, "decisions")]
    proofs = _mapping(card.get("evidence")).items()
    facts += [(name, words.format_value(proof["value"])) for name, proof in proofs]
    rule = _mapping(card.get("policy")).get("rule")
    return [*facts, ("rule", str(rule))] if rule else facts


def _not_judged(card: Card) -> list[str]:
    names = _list(card, "not_judged")
    return [f"nobody has judged the criteria in words of {', '.join(map(str, names))}"] if names else []


def _step(step: Card, card: Card) -> AskedCall:
    """Lay out a step of a plan."""
    sentence = step_sentence(step)
    planned = sentence.rest if step["capability"] == AGENT else _mapping(step["params"])
    values = value_rows(planned, _mapping(step.get("values")), step, whole=True)
    call = _call_card(step, sentence.text, values)
    notes = [*call.notes, *gate_texts(step)]
    if step["own_gate"]:
        again = "you see it before it goes out" if step.get("shown_later") else "it asks again"
        notes.append("its own gate is opened with the plan" if step.get("gate_included") else again)
    if criterion := step.get("criterion"):
        notes.append(f"criterion: {criterion} ({step['judged']})")
    if undo := _mapping(step.get("compensation")):
        notes.append(f"undone by {undo.get('capability')}")
    for edge in _list(step, "follows"):
        notes.append(f"after {edge['after']}, because both use {edge['both_use']}")
    done = str(_mapping(card.get("done")).get(str(step["id"]), ""))
    return replace(call, notes=notes, done=done, brought=str(step.get("brought", "")))


def _call_card(part: Card, sentence: str, values: Sequence[ValueRow]) -> AskedCall:
    """Lay out what cards of steps and of calls have in common."""
    marks = [str(mark) for mark in _list(part, "marks")]
    if part.get("done_before"):
        marks.append("this run has done the same or the like before")
    if part.get("tainted"):
        marks.append("its values come from text that somebody else wrote")
    origins = [f"{name}: {origin}" for name, origin in _mapping(part.get("origins")).items()]
    marks += [origin for origin in origins if SEEN in origin]
    marks += file_lines(part)
    risk = str(part.get("risk", "None"))
    mode = [words.word(part["mode"])] if part.get("mode") else []
    chain = _mapping(part.get("chain")).get("calls") or part.get("steps") or ()
    return AskedCall(
        id=str(part.get("id") or part.get("step_id") or ""),
        name=str(part.get("capability", "")),
        sentence=sentence,
        reason=str(part.get("reason") or ""),
        risk=risk,
        facts=[*mode, risk_text(risk)],
        values=values,
        warnings=marks,
        notes=[*filter(None, [undo_text(part)]), *(origin for origin in origins if SEEN not in origin)],
        after=[str(id_) for id_ in _list(part, "after")],
        rewrites=rewrite_texts(part),
        inner=[_call_card(call, "", _chained_values(call)) for call in chain if isinstance(call, Mapping)],
    )


def _chained_values(call: Card) -> Sequence[ValueRow]:
    """Lay out the arguments of a call of a chain; those that are not known yet refer to earlier ones."""
    return value_rows({**_mapping(call.get("arguments")), **_mapping(call.get("args"))}, None, whole=True)


def _calls(gate: Gate) -> list[AskedCall]:
    if gate.kind in ("info", "escalation"):
        return []
    rows = [real_rows(_mapping(call.get("args")), call, whole=True) for call in gate.calls]
    return [_call_card(call, _sentence(call), values) for call, values in zip(gate.calls, rows, strict=True)]


def _sentence(call: Card) -> str:
    """Say what a call does: with what its arguments stand for, where its card says so."""
    if not call.get("described"):
        return str(call.get("description", ""))
    return step_sentence({**call, "params": {}, "values": call["args"]}).text


def _drawn(step: Card, card: Card) -> DrawnStep:
    done = str(step["id"]) in _mapping(card.get("done"))
    mode = "a model with tools" if step["capability"] == AGENT else words.word(step["mode"])
    risk = "" if step["risk"] == "None" else f" · {step['risk']} risk"
    return DrawnStep(
        id=str(step["id"]),
        name=str(step["capability"]),
        state="done" if done else "pending",
        detail="done before" if done else f"{mode}{risk}",
        after=[str(id_) for id_ in step["after"]],
        follows=[str(edge["after"]) for edge in step.get("follows", ())],
        gated=bool(step["own_gate"]),
        risk=str(step["risk"]),
        only_if=str(step.get("only_if", "")),
    )


def _mapping(value: object) -> Card:
    return value if isinstance(value, Mapping) else {}


def _list(card: Card, name: str) -> Sequence[Card]:
    value = card.get(name)
    return value if isinstance(value, list) else []
