"""What a gate asks, in words: for pages that show a sentence, such as Studio and the Agent Inbox."""

from __future__ import annotations

from collections.abc import Mapping

from planwright.approvals.cards import SEEN, card_steps
from planwright.presentation.doubt_lines import asked_lines
from planwright.presentation.plan_gates import outside_text, planner_words, undo_text
from planwright.presentation.step_sentence import described_value
from planwright.records.consent.gate import Gate


def describe_call(call: Mapping[str, object]) -> str:
    """Say on one line which call is asked for, why, and which of its values a result brought first."""
    origins = call.get("origins")
    seen = origins.items() if isinstance(origins, dict) else ()
    args = call.get("args")
    named = args.items() if isinstance(args, dict) else ()
    described = [f"{name}: {text}" for name, value in named if (text := described_value(name, value, call))]
    brought = [f"{name}: {origin}" for name, origin in seen if SEEN in str(origin)]
    why = [*described, str(call["reason"]), *brought, *filter(None, [undo_text(call)])]
    return f"Approve {call['capability']}: {call['description']} ({'; '.join(why)})"


def describe_gate(gate: Gate) -> str:
    """Say in a sentence what a gate asks, and under it what is to be known beside that."""
    if gate.kind == "plan":
        steps = len(card_steps(gate.card))
        count = f"{steps} step{'s' * (steps != 1)}"
        head = f"Approve the plan ({count}, risk {gate.card['risk']}) for: {gate.card.get('request', '')}"
        will = [f"It {outside}"] if (outside := outside_text(gate.card)) else []
        return "\n".join([*will, head, *planner_words(gate.card), *_for_good(gate)])
    if gate.kind == "escalation":
        headline = f"Decide over {gate.card['step_id']}: {gate.card['description']} ({gate.card['reason']})"
        return "\n".join([headline, *asked_lines(gate.doubts)])
    if gate.kind == "info":
        return f"Answer, for: {gate.card['description']}"
    return describe_call(gate.card)


def _for_good(gate: Gate) -> list[str]:
    """Say on one line which steps of a plan cannot be undone; nothing where all can."""
    steps = [step for step in card_steps(gate.card) if step.get("undo_by") == ""]
    names = ", ".join(f"{step['id']} {step['capability']}" for step in steps)
    return [f"Cannot be undone: {names}"] if steps else []
