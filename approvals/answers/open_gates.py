"""Several open gates of one run as one question, for doors that show one and answer it without a name.

It has the actions of all of them, those of the gate that closes first before the others, and takes as many
decisions, in that order. Its id names exactly these gates: once one of them is answered, it names none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from planwright.approvals.answers.inbox_answers import from_inbox_to_all
from planwright.approvals.gate import GatePrompt, PagePrompt, ReviewConfig, gate_prompt, in_one
from planwright.domain.errors import GateError
from planwright.domain.hashing import sha256
from planwright.records.consent.gate import Gate


class OpenGatesPrompt(PagePrompt):
    """What several gates ask, as one question."""

    gates: list[GatePrompt]
    """What each of them asks alone, in the order of the actions."""


def as_one(prompts: Sequence[GatePrompt]) -> OpenGatesPrompt:
    """Put what the open gates of a run ask into one question."""
    gates = sorted(prompts, key=lambda prompt: (prompt["expires_at"], prompt["gate_id"]))
    actions = [action.copy() for prompt in gates for action in prompt["action_requests"]]
    for action in actions:
        action.pop("arguments", None)
    return {
        "action_requests": actions,
        "review_configs": _narrowest(config for prompt in gates for config in prompt["review_configs"]),
        "action_request": in_one(actions),
        "config": {word: all(prompt["config"][word] for prompt in gates) for word in gates[0]["config"]},
        "description": "\n".join(prompt["description"] for prompt in gates),
        "gate_id": _id_of(prompt["gate_id"] for prompt in gates),
        "gates": gates,
    }


def _narrowest(configs: Iterable[ReviewConfig]) -> list[ReviewConfig]:
    """Keep one config a tool, with the answers that every gate takes which asks about it."""
    by_name: dict[str, ReviewConfig] = {}
    for config in configs:
        before = by_name.get(config["action_name"], config)["allowed_decisions"]
        both = [answer for answer in before if answer in config["allowed_decisions"]]
        by_name[config["action_name"]] = {**config, "allowed_decisions": both}
    return list(by_name.values())


def over_all(answer: object, gates: Sequence[Gate]) -> list[tuple[Gate, object]]:
    """Split an answer that names no gate into one for each.

    Raises GateError unless it has a decision for each action that is asked for.
    """
    by_id, question = {gate.gate_id: gate for gate in gates}, as_one([gate_prompt(gate) for gate in gates])
    answer, most = from_inbox_to_all(answer, question), len(question["action_requests"])
    decisions = answer.get("decisions") if isinstance(answer, Mapping) else None
    number = len(decisions) if isinstance(decisions, list) else 0
    if not isinstance(answer, Mapping) or not isinstance(decisions, list) or number != most:
        has = f", and has {number} decision{'s' * (number != 1)} for {most} actions" if number else ""
        raise GateError(
            f"{len(gates)} gates are open, and the answer names none of them{has}",
            f"send {most} decisions, in their order, or answer each by its id: {named_in(gates)}",
        )
    rest = iter(decisions)
    parts = [
        (by_id[prompt["gate_id"]], list(islice(rest, len(prompt["action_requests"]))))
        for prompt in question["gates"]
    ]
    if any(gate_meant(form) not in (None, gate.gate_id) for gate, forms in parts for form in forms):
        raise GateError("a decision stands in the place of another gate than it names", "name each gate once")
    return [(gate, {**answer, "decisions": forms}) for gate, forms in parts]


def without_name(answer: object, gates: Sequence[Gate]) -> object:
    """Take the id of the one question off an answer that is to all of its gates."""
    name = _id_of(gate.gate_id for gate in gates)
    if not isinstance(answer, Mapping):
        return answer
    if answer.keys() == {name}:
        return answer[name]
    return {key: value for key, value in answer.items() if (key, value) != ("gate_id", name)}


def gate_meant(form: object) -> object:
    """Find the gate id that an answer names: beside its decision, or inside it; None when it names none."""
    if isinstance(form, Mapping):
        beside = form.get("gate_id")
        return gate_meant(form.get("decisions")) if beside is None else beside
    if isinstance(form, Sequence) and not isinstance(form, str) and len(form) == 1:
        return gate_meant(form[0])
    return None


def named_in(gates: Sequence[Gate]) -> str:
    """List the ids of open gates, in words; of many the first."""
    more = f" and {len(gates) - 8} more: planwright ls --waiting" if len(gates) > 8 else ""
    return ", ".join(gate.gate_id for gate in gates[:8]) + more


def _id_of(gate_ids: Iterable[str]) -> str:
    return "gates_" + sha256(sorted(gate_ids))[:16]
