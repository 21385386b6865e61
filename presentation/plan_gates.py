"""What the card of a plan says beside its steps, in words: what it does outside, gates, a planner's goal."""

from __future__ import annotations

from planwright.presentation.printable import one_line
from planwright.presentation.rows import Card


def gate_texts(step: Card) -> list[str]:
    """Say of each gate on the card of a step who opens it, and which decisions come before."""
    texts = [_gate(gate) for gate in step.get("gates", ())]
    versions = step.get("versions", {})
    return texts + [
        f"after the decision {name}, "
        + (f"by version {versions[name]} of its spec" if name in versions else "which nobody can take yet")
        for name in step.get("decisions", ())
    ]


def planner_words(card: Card) -> list[str]:
    """Quote the goal of a plan as the words of whatever planned it, unless they are the request's."""
    goal = str(card.get("goal", ""))
    return [f"in the planner's words: {goal}"] if goal != card.get("request") else []


def undo_text(call: Card) -> str:
    """Say what can undo a call; "" for one that changes nothing, or whose calls each say it."""
    if (by := call.get("undo_by")) is None:
        return ""
    return f"can be undone: {one_line(by)}" if by else "cannot be undone"


def outside_text(card: Card) -> str:
    """Say on one line what a plan will change or send; "" for a plan that only reads."""
    effects = [one_line(effect) for effect in card.get("outside", ())]
    return ("; " if any("," in effect for effect in effects) else ", ").join(effects)


def _gate(gate: Card) -> str:
    who = ", ".join(gate.get("approvers", ())) or "anybody"
    others = ", not by who asked" if gate.get("exclude_requester") else ""
    many = f", {quorum} of them" if (quorum := gate.get("quorum", 1)) > 1 else ""
    lasts = f", within {gate['expires_s']:g} s" if "expires_s" in gate else ""
    why = f": {gate['reason']}" if gate.get("reason") else ""
    return f"{gate['name']}, opened by {who}{many}{others}{lasts}{why}"
