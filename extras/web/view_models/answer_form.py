"""What a form says of a gate, as an answer that the door takes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from planwright.approvals.answers.decisions_of_calls import all_but
from planwright.domain.doubt import read_result
from planwright.extras.web.view_models.breadth import breadth_of
from planwright.records.consent.gate import EXTEND, Gate


def answer_of(form: Mapping[str, Sequence[str]], gate: Gate) -> dict[str, object]:
    """Read an answer out of the fields of a form: its word, the hash of what was looked at, and words.

    Whether the gate takes it is for the door to say; nobody's name is read here.
    """
    word = _only(form, "type")
    if word == "approve" and (
        left := [n for n in range(1, len(gate.calls) + 1) if _only(form, f"leave-{n}")]
    ):
        return {
            "plan_hash": _only(form, "plan_hash"),
            **all_but(left, len(gate.calls), _only(form, "message")),
        }
    answer: dict[str, object] = {"type": word, "plan_hash": _only(form, "plan_hash")}
    if text := _only(form, "message").strip():
        answer["message"] = text
    if word == "approve" and (holds := _holds(form, gate)):
        answer["remember"] = holds
    if word == "approve" and (text := _only(form, "amount").strip()):
        answer |= {"type": "edit", "edited_action": {"name": EXTEND, "args": {"amount": _amount(text)}}}
    if word == "respond" and gate.doubts:
        answer["effects"] = [
            effect for doubt in gate.doubts if (effect := _effect(form, doubt.key)) is not None
        ]
    return answer


def _amount(text: str) -> float | str:
    """Read how much more of a limit is given; a text that is no number is left for the door to refuse."""
    try:
        return float(text)
    except ValueError:
        return text


def _holds(form: Mapping[str, Sequence[str]], gate: Gate) -> str | dict[str, object]:
    """Read what an approval holds for beyond this once: a scope, tools, what need not be shown."""
    scope = _only(form, "remember")
    breadth = breadth_of(gate, partial(_only, form))
    unseen = {"unseen": True} if gate.shown_later and _only(form, "unseen") else {}
    tools = {name: may for name in gate.undeclared if (may := _only(form, f"tool-{name}"))}
    if not (tools or unseen or breadth):
        return scope
    return {**({"scope": scope} if scope else {}), **breadth, **({"tools": tools} if tools else {}), **unseen}


def effects_of(form: Mapping[str, Sequence[str]], keys: Sequence[str]) -> list[object]:
    """Read what a form says of effects in doubt, by their keys."""
    return [effect for key in keys if (effect := _effect(form, key)) is not None]


def _effect(form: Mapping[str, Sequence[str]], key: str) -> dict[str, object] | None:
    happened = _only(form, f"happened-{key}")
    if happened not in ("yes", "no"):
        return None
    text = _only(form, f"result-{key}").strip()
    result = {"result": read_result(text)} if text and happened == "yes" else {}
    return {"key": key, "happened": happened == "yes", **result}


def _only(form: Mapping[str, Sequence[str]], name: str) -> str:
    values = form.get(name, ())
    return values[0].replace("\r\n", "\n") if len(values) == 1 else ""
