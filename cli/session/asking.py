"""Ask the person at the terminal at a gate, or say how it can be answered later."""

from __future__ import annotations

import sys
import termios
from collections.abc import Callable, Sequence

from langgraph.types import Command, Interrupt
from rich.console import RenderableType

from planwright.approvals.answers.decisions_of_calls import all_but
from planwright.cli.session import doubt_questions
from planwright.cli.session.breadth import breadth_words, read_breadth
from planwright.cli.session.editing import NOTHING_SAVED, Drafts
from planwright.cli.session.elsewhere import (
    Decided,
    DecidedElsewhere,
    decision_on,
    read_line,
    wait_until_free,
)
from planwright.cli.session.terminal import RunWatch, Terminal
from planwright.cli.views import rendering as views
from planwright.cli.views.doubt_views import decide_command, doubts_on
from planwright.cli.views.gate_view import gate_view
from planwright.domain.errors import GateError, PlanwrightError, SetupError
from planwright.graph.agent import Agent
from planwright.presentation.rows import Card, JsonObject
from planwright.records.consent.approval_scope import TOOL_WORDS
from planwright.records.consent.call_question import QUESTION
from planwright.records.consent.gate import EXTEND
from planwright.security.credentials import login_name

Approver = Callable[[Card, Terminal], JsonObject | None]
CHOICES = {
    "plan": "[y] approve   [e] edit   [n] reject, or n and why",
    "step": "[y] approve   [n] reject, or n and why",
    "info": "type the answer   [n] no answer",
    "escalation": "[y] run again   [n] leave it and end",
    "limit": "[y] give that much more   or type how much   [n] end here",
}
ACCEPTS = "[y] accept it as it is"
EDIT = ("e", "edit")
YES = ("y", "yes", "ok", "okay", "approve", "approved")
NO = ("n", "no", "reject", "rejected")
NO_AND_WHY = ("n", "reject")
UNSEEN = ("u", "unseen")
HELP = ("", "?", "h", "help")
_TOOLS = dict(zip("1234", TOOL_WORDS, strict=True))
"""What is typed for each answer to what a tool may do."""
ASKS = {"info": "answer", "escalation": "what now?", "limit": "more?"}


def who() -> str:
    """Name the person at the terminal, as the system knows them."""
    return login_name()


def reason_for(terminal: Terminal) -> str:
    """Ask the person at the terminal why they reject; nobody is kept from saying no for want of words."""
    if not terminal.interactive:
        return ""
    terminal.screen.print(views.label("why?", "the planner is told, or else whoever reads the answer"))
    forget_typed_ahead()
    try:
        return input("           ").strip()
    except EOFError:
        return ""


def asker(drafts: Drafts, watch: RunWatch, agent: Agent) -> Approver:
    """Ask the person at the terminal about a gate until there is an answer; None for one from elsewhere."""

    def ask(waiting: Card, terminal: Terminal) -> JsonObject | None:
        try:
            gate_id = str(waiting["gate_id"])
            return {**at_prompt(waiting, terminal, decision_on(agent, gate_id)), "gate_id": gate_id}
        except DecidedElsewhere as error:
            terminal.screen.print()
            terminal.screen.print(views.label("decided", f"{error.cause}, while this waited"))
            wait_until_free(agent, waiting["thread_id"], terminal)
            return None

    def at_prompt(waiting: Card, terminal: Terminal, decided: Decided) -> JsonObject:
        _show_card(waiting, terminal, watch)
        terminal.screen.print(views.label(ASKS.get(waiting["kind"], "approve?"), _question(waiting)))
        forget_typed_ahead()
        if doubts := doubts_on(waiting["shown"]):
            decision = doubt_questions.ask_each(doubts, terminal, lambda: read_line(decided))
            return {**decision, "decided_by": who()}
        for line in [*tool_choices(waiting), *wider_choices(waiting)]:
            terminal.screen.print(line)
        prompt = f"           {choices(waiting)}: "
        while True:
            terminal.screen.print(prompt, end="", markup=False)
            typed = read_line(decided)
            if waiting["kind"] == "plan" and "edit" in _allowed(waiting) and typed.lower() in EDIT:
                answer = _by_hand(waiting, drafts, terminal)
            else:
                answer = read_typed(typed, waiting)
            if answer:
                return {**answer, "decided_by": who()}
            terminal.screen.print(views.label("", "nothing is decided; type one of these"))

    return ask


def forget_typed_ahead() -> None:
    """Drop what was typed before the question was there: it cannot be an answer to it."""
    if sys.stdin.isatty():
        termios.tcflush(sys.stdin, termios.TCIFLUSH)


def choices(waiting: Card) -> str:
    """Say what can be typed at a gate."""
    more = ""
    if waiting.get("remember"):
        more = "   [r] for this run   [c] for this conversation   [a] always, with these arguments"
    elif waiting["kind"] == "escalation" and "respond" in _allowed(waiting):
        doubtful = waiting["shown"]["in_doubt"]
        more = "   or type what came of it" if doubtful else "   or type what to do instead"
    if waiting.get("shown_later"):
        more = "   [u] approve, unseen"
    if waiting["kind"] == "step" and len(waiting.get("action_requests", ())) > 1:
        more += "   [y 1 3] these alone, by number"
    offered = CHOICES[waiting["kind"]]
    if "edit" not in _allowed(waiting):
        offered = offered.replace("   [e] edit", "")
    if waiting["kind"] == "escalation" and waiting["shown"].get("approve", "again") != "again":
        takes = f"{ACCEPTS}   " if "approve" in _allowed(waiting) else ""
        offered = offered.replace("[y] run again   ", takes)
    return offered.replace("   [n]", f"{more}   [n]", 1)


def tool_choices(waiting: Card) -> list[RenderableType]:
    """Say what can be typed to approve, and to say for good what the tools on a card may do."""
    names = waiting.get("undeclared")
    if not names:
        return []
    head = f"what may {', '.join(names)} do? it is not declared; to approve, and to say so for good:"
    answers = (views.label("", f"[{number}] {TOOL_WORDS[may]}") for number, may in _TOOLS.items())
    return [views.label("tool", head), *answers]


def wider_choices(waiting: Card) -> list[RenderableType]:
    """Say how an approval is made to hold for more calls, or for fewer, with what is on this card."""
    if not waiting.get("remember") or len(waiting.get("action_requests", ())) > 1:
        return []
    return [views.label("wider", breadth_words(waiting["shown"]), "dim")]


def read_typed(typed: str, waiting: Card) -> JsonObject | None:
    """Turn what was typed into an answer; None when it is none at this gate.

    Words of no answer reject nothing: it is asked again, as a rejection is for good.
    """
    word, allowed = typed.lower(), _allowed(waiting)
    if word in YES and "approve" in allowed:
        return {"type": "approve"}
    count = len(waiting.get("action_requests", ())) if waiting["kind"] == "step" else 0
    if numbers := _numbers(word, count):
        return all_but({*range(1, count + 1)} - numbers, count)
    if waiting["kind"] == "limit" and (amount := _amount(word)):
        args = {**waiting["shown"]["args"], "amount": amount}
        return {"type": "edit", "edited_action": {"name": waiting["shown"]["capability"], "args": args}}
    if waiting.get("remember") and (holds := read_breadth(typed, waiting)):
        return {"type": "approve", "remember": holds}
    if word in UNSEEN and waiting.get("shown_later"):
        return {"type": "approve", "remember": {"unseen": True}}
    if word in _TOOLS and (tools := waiting.get("undeclared")):
        return {"type": "approve", "remember": {"tools": dict.fromkeys(tools, _TOOLS[word])}}
    if word in (NO[:1] if QUESTION in waiting["shown"] else NO):  # "no" may be what a function wants to hear
        return {"type": "reject", "message": ""}
    if waiting["kind"] in ("info", "escalation"):
        no_words = HELP[:2] if waiting["kind"] == "info" else HELP
        return (
            {"type": "respond", "message": typed} if "respond" in allowed and word not in no_words else None
        )
    first, _, reason = typed.partition(" ")
    says_why = first.lower().rstrip(",:") in NO_AND_WHY
    return {"type": "reject", "message": reason.strip()} if says_why else None


def _numbers(typed: str, calls: int) -> set[int]:
    """Read which calls of a card alone are approved, as `y 1 3`; none where something else was typed."""
    first, *rest = typed.replace(",", " ").split() or [""]
    numbers = {int(each) for each in rest if each.isascii() and each.isdigit()}
    fits = len(numbers) == len(rest) and numbers <= {*range(1, calls + 1)}
    return numbers if first in YES and calls > 1 and fits else set()


def _amount(text: str) -> float | None:
    """Read an amount that was typed; None for what is none."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def edited_gate(entry: object) -> str:
    """Name the gate whose plan an answer edits; empty for any other entry."""
    answer = entry.resume if isinstance(entry, Command) else None
    if not isinstance(answer, dict) or answer.get("type") != "edit":
        return ""
    return "" if answer.get("edited_action", {}).get("name") == EXTEND else str(answer["gate_id"])


def print_refused(error: PlanwrightError, terminal: Terminal) -> None:
    """Say why an answer was not taken, and what to do."""
    terminal.screen.print(views.label("refused", error.cause, "red"))
    terminal.screen.print(views.label("next", error.next_step))


def print_interrupted(where: str, waiting: Sequence[Interrupt], terminal: Terminal) -> None:
    """Say how to go on with a run, and until when the first of its open gates waits."""
    ends = sorted(str(each.value["expires_at"]) for each in waiting if "expires_at" in each.value)
    until = f", and it waits until {ends[0][:16].replace('T', ' ')} UTC" if ends else ""
    line = f"\ninterrupted; nothing is lost{until}: planwright resume {where}"
    terminal.screen.print(line, soft_wrap=True)


def print_how_to_answer(waiting: Card, where: str, terminal: Terminal, watch: RunWatch) -> None:
    """Show what waits, and the commands that answer it."""
    _show_card(waiting, terminal, watch)
    kind, gate, allowed = waiting["kind"], f"{waiting['gate_id']}{where}", _allowed(waiting)
    terminal.screen.print(views.label("waiting", f"for a decision over {_question(waiting)}"))
    if doubts_on(waiting["shown"]):
        terminal.screen.print(views.label("ask me", f"planwright resume {waiting['thread_id']}{where}"))
        terminal.screen.print(views.label("respond", decide_command(gate)))
        terminal.screen.print(views.label("leave open", f'planwright reject {gate} --reason "…"'))
        return
    if "approve" in allowed:
        if approvers := ", ".join(waiting.get("approvals", ())):
            terminal.screen.print(
                views.label(
                    "approvals", f"{approvers}; somebody else has to approve, too, at their own login"
                )
            )
        terminal.screen.print(views.label("approve", f"planwright approve {gate}"))
    if "edit" in allowed and kind == "plan":
        terminal.screen.print(views.label("edit", f"planwright edit {gate}"))
    if "respond" in allowed:
        of_model = "call_id" in waiting["shown"] or "calls" in waiting["shown"]
        step = "what the model is told in its place" if of_model else "no, and why"
        words = {"info": "the answer", "step": step}.get(kind, "what should be different")
        terminal.screen.print(views.label("respond", f'planwright respond {gate} "{words}"'))
    terminal.screen.print(views.label("reject", f'planwright reject {gate} --reason "…"'))


def _by_hand(waiting: Card, drafts: Drafts, terminal: Terminal) -> JsonObject | None:
    """Let the person change the plan of a gate in an editor; None, and a line that says why, for none."""
    try:
        if edited := drafts.open(waiting["gate_id"], waiting["shown"]):
            return edited
        terminal.screen.print(views.label("edit", NOTHING_SAVED))
    except (GateError, SetupError) as error:
        print_refused(error, terminal)
    return None


def _show_card(waiting: Card, terminal: Terminal, watch: RunWatch) -> None:
    """Show what is decided over, unless it is the plan just shown."""
    if waiting["kind"] != "plan" or not watch.is_on_screen(waiting["shown"]):
        card, models = waiting["shown"], not watch.view.embedded
        view = gate_view(waiting["kind"], card, whole=terminal.verbose, models=models)
        terminal.screen.print(view)


def _question(waiting: Card) -> str:
    card, until = waiting["shown"], waiting["expires_at"][:19].replace("T", " ")
    if waiting["kind"] == "info":
        return f"the questions above; valid until {until} UTC"
    subject = card.get("capability")
    if waiting["kind"] == "escalation":
        subject = (
            f"{card['step_id']}, which {'failed' if card.get('approve') == 'again' else 'was not accepted'}"
        )
    if doubts := doubts_on(card):
        subject = f"{len(doubts)} effect{'s' * (len(doubts) != 1)} in doubt"
    if waiting["kind"] == "plan":
        subject = f"the plan above, {len(card['steps'])} step{'s' * (len(card['steps']) != 1)}"
    return f"{subject}, {views.risk_text(card['risk'])}; valid until {until} UTC"


def _allowed(waiting: Card) -> list[str]:
    allowed: list[str] = waiting["review_configs"][0]["allowed_decisions"]
    return allowed
