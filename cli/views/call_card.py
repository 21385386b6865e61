"""The card of a call at a terminal: what it does, with which arguments, what they stand for, and whence."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from planwright.approvals.cards import SEEN
from planwright.cli.views.printable import one_line
from planwright.cli.views.rendering import RISK_STYLE, argument, label, risk_text, risk_word
from planwright.presentation.file_lines import file_lines, rewrite_texts
from planwright.presentation.plan_gates import undo_text
from planwright.presentation.rows import Card
from planwright.presentation.step_sentence import described_value, shown_arguments, step_sentence
from planwright.records.consent.approvers import excluded_words


def call_view(card: Card) -> RenderableType:
    """Show one call that waits for a decision, with its arguments as they will be sent."""
    kind = (
        ""
        if card["capability"] in ("escalation", "extend_budget")
        else f" ({card['mode']}, {card['effect']})"
    )
    rows: list[RenderableType] = [
        label("gate", f"{card['capability']}: {card['description']}"),
        label("why", str(card["reason"])),
        label("risk", f"{risk_word(card['risk'])}{kind}", RISK_STYLE[str(card["risk"])]),
    ]
    if card.get("described"):
        rows[:0] = [label("will", step_sentence({**card, "params": {}, "values": card["args"]}).text, "bold")]
    if approvers := (card.get("policy") or {}).get("approvers"):
        rows.append(label("approvers", f"{', '.join(approvers)} ({card['policy']['rule']})"))
    if (quorum := (card.get("policy") or {}).get("quorum", 1)) > 1:
        rows.append(label("quorum", f"{quorum} different people have to approve ({card['policy']['rule']})"))
    if excluded := excluded_words(card):
        rows.append(label("not by", f"{excluded} ({card['policy']['rule']})"))
    if "calls" in card:
        calls = [{**call, "id": str(number)} for number, call in enumerate(card["calls"], 1)]
        rows += [row for call in calls for row in call_part(call, call["args"], call["risk"])]
    else:
        rows += argument_rows(card, card["args"], 11)
        rows += origin_rows(card)
    rows += [label("file", one_line(text), "yellow") for text in file_lines(card)]
    rows += [argument("file", text, 11) for call in card.get("calls", [card]) for text in rewrite_texts(call)]
    if undo := undo_text(card):
        rows.append(label("undo", undo, "dim" if card["undo_by"] else "yellow"))
    rows += [label("after", text) for text in card.get("decisions", ())]
    rows += [argument(name, proof["value"], 11) for name, proof in card.get("evidence", {}).items()]
    rows += [label("look", mark, "yellow") for mark in card.get("marks", ())]
    rows += [label("beside", other) for other in card.get("others", ())]
    if width := card.get("width"):
        rows.append(label("for more", f"{width['words']}"))
    if "definition" in card:
        rows.append(label("chain", f"{card['definition'][:12]}: this call of it, with what is known by now"))
        rows += [row for step in card["steps"] for row in call_part(step, step["args"], step["risk"])]
    return Group(*rows)


def origin_rows(card: Card) -> list[RenderableType]:
    """Show where the values of a call come from; what a result brought first is not to be overlooked."""
    origins = card.get("origins") or {}
    return [
        label("from", one_line(f"{name}: {origin}"), "yellow" if SEEN in origin else "dim")
        for name, origin in origins.items()
    ]


def origins_text(card: Card) -> str:
    """Say on one line where the values of a call come from, those of one place together; "" of none."""
    names: dict[str, list[str]] = {}
    for name, place in (card.get("origins") or {}).items():
        names.setdefault(place, []).append(name)
    return one_line("; ".join(f"{place} ({', '.join(each)})" for place, each in names.items()))


def call_part(call: Card, args: Card, risk: str = "", indent: int = 11) -> list[RenderableType]:
    """Show one call of a chain under it; what earlier calls bring is still a reference."""
    head = Text.assemble((f"{one_line(call['id'])} ", "bold"), f"{one_line(call['capability'])} ")
    head.append(risk_text(risk) if risk else "", RISK_STYLE.get(risk, ""))
    again = call.get("mode") == "destructive" and not call.get("gate_included")
    head.append("  own gate" if again else "", "bold red")
    rows = argument_rows(call, args, indent + 4, "dim") + origin_rows(call)
    if undo := undo_text(call):
        rows.append(Padding(Text(undo, "dim" if call["undo_by"] else "yellow"), (0, 0, 0, indent + 4)))
    return [Padding(head, (0, 0, 0, indent), expand=False), *rows]


def argument_rows(card: Card, args: Card, indent: int, style: str = "") -> list[RenderableType]:
    """Show the arguments of a call, with what they stand for; those that say nothing are left out."""
    return [
        argument(name, described_value(name, value, card) or value, indent, style)
        for name, value in shown_arguments(args, card).items()
    ]
