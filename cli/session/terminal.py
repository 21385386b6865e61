"""The terminal a run is watched at: a live view where one can be, plain lines where not."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from planwright.cli.session.event_lines import event_line, is_aside, is_detail, repeats
from planwright.cli.session.frame import ANSWER_INDENT, frame, left_behind
from planwright.cli.session.step_records import with_record
from planwright.cli.views import rendering as views
from planwright.cli.views.printable import chop
from planwright.domain.run_context import RunContext
from planwright.graph.agent import Agent
from planwright.presentation.rows import Card, RunEvent
from planwright.presentation.run_view import RunLine, RunView, fold, resumed_view, with_answer_piece
from planwright.settings.settings import Settings

LEAST_WIDTH, LEAST_HEIGHT, FRAMES_PER_S = 40, 8, 8
ANSWERING = ("respond", "agentic_loop")
IN_THE_FRAME = frozenset(
    ("plan_step_start", "plan_step_complete", "plan_step_failed", "plan_step_skipped")
    + ("tool_call_start", "tool_call_end")
)
AFTER_THE_STEPS = frozenset(("plan_complete", "plan_failed", "plan_cancelled", "agent_message"))


@dataclass(frozen=True)
class Terminal:
    """Where progress goes (stderr), and whether anybody is there to ask."""

    as_json: bool
    """Whether output is JSON, for programs."""
    no_input: bool
    """Whether nobody is to be asked."""
    verbose: bool = False
    """Whether all detail is shown."""
    talking: bool = False
    """Whether this is a conversation: little stands beside an answer."""
    screen: Console = field(default_factory=lambda: views.console(stderr=True))
    """Console that progress is written to."""

    @property
    def interactive(self) -> bool:
        """Whether a person can be asked."""
        return not self.no_input and not self.as_json and sys.stdin.isatty() and self.screen.is_terminal

    @property
    def live(self) -> bool:
        """Whether the screen can be drawn over: a terminal of some size that knows how to."""
        able = self.screen.file.isatty() and not self.screen.is_dumb_terminal
        width, height = self.screen.size
        return able and not self.as_json and width >= LEAST_WIDTH and height >= LEAST_HEIGHT


Chunk = tuple[str, Any]
"""A mode of the stream, and what comes of it."""


class RunWatch:
    """Show a run while it goes on, over all its invocations in this process."""

    def __init__(self, terminal: Terminal, settings: Settings) -> None:
        self._terminal = terminal
        self._settings = settings
        self._view = RunView()
        self._left_behind: set[str] = set()
        self._plans: set[tuple[str, int]] = set()
        self._over = False
        self._drawing = threading.Lock()
        self.answered: str | None = None
        """The answer that was printed while its run went on; None before, or where it could not be."""

    def recall(self, events: Iterable[RunEvent]) -> None:
        """Take up a run that another process began, from its events."""
        for event in events:
            self._view = fold(self._view, with_record(event, self._settings))
        self._view = resumed_view(self._view, time.time())
        self._left_behind = {_name(line) for line in self._view.lines if line.settled}

    @property
    def view(self) -> RunView:
        """What is known of the run so far."""
        return self._view

    def is_on_screen(self, card: Card) -> bool:
        """Say whether the card of a plan is on the screen already."""
        return (card["plan_id"], card["revision"]) in self._plans

    def stream(self, agent: Agent, entry: object, config: RunnableConfig, context: RunContext | None) -> None:
        """Follow one invocation to its end; whatever ends it, the lines of its steps stay behind."""
        if not self._terminal.live:
            plain = agent.stream(entry, config, context=context, stream_mode=["custom", "updates"])
            for mode, chunk in _on_record(agent, plain):
                self._plainly(mode, chunk)
                self._print_answer(_answer_in((mode, chunk)))
            return
        screen, self._over = self._terminal.screen, False
        modes = ["custom", "updates", "messages"]
        self._view = resumed_view(self._view, time.time())
        live = Live(console=screen, transient=True, get_renderable=self._frame, auto_refresh=False)
        with live, self._ticking(live):
            try:
                chunks = _on_record(agent, agent.stream(entry, config, context=context, stream_mode=modes))
                for mode, chunk in chunks:
                    self._lively(mode, chunk)
                    if (answer := _answer_in((mode, chunk))) is not None:
                        break
                else:
                    answer = None
            finally:
                self._leave(ended=False)
                self._over = True  # nothing is left for the frame's last picture
        self._print_answer(answer)
        for mode, chunk in chunks:  # what comes behind it, as memories, needs no frame
            self._plainly(mode, chunk)

    @contextmanager
    def _ticking(self, live: Live) -> Iterator[None]:
        """Draw the frame anew a few times a second, never while a line is printed.

        rich makes a picture and writes it in two steps: its own thread for this has left a frame behind
        that a line was printed onto.
        """
        over = threading.Event()

        def tick() -> None:
            while not over.wait(1 / FRAMES_PER_S):
                with self._drawing:
                    live.refresh()

        ticker = threading.Thread(target=tick, daemon=True)
        ticker.start()
        try:
            yield
        finally:
            over.set()
            ticker.join()

    def _print(self, line: RenderableType) -> None:
        with self._drawing:
            self._terminal.screen.print(line)

    def _print_answer(self, answer: str | None) -> None:
        """Print the answer once it is there; where that fails, it is printed when the run has ended."""
        if answer is not None and not self._terminal.as_json:
            with suppress(OSError):
                print_answer(answer)
                self.answered = answer

    def _plainly(self, mode: str, chunk: Any) -> None:
        if mode == "messages":
            return
        if mode == "custom":
            chunk = with_record(chunk, self._settings)
            self._view = fold(self._view, chunk)
        line = self._line(mode, chunk)
        if line is not None and not self._terminal.as_json:
            self._print(line)

    def _lively(self, mode: str, chunk: Any) -> None:
        if mode == "messages":
            message, metadata = chunk
            spoken = metadata.get("langgraph_node") in ANSWERING and not isinstance(message, ToolMessage)
            if spoken and sys.stdout.isatty():
                self._view = with_answer_piece(self._view, message.text, str(message.id))
            return
        kind = chunk["type"] if mode == "custom" else ""
        if mode == "custom":
            self._view = fold(self._view, with_record(chunk, self._settings))
        if kind in ("plan_start", "tool_call_start"):
            self._over = False
        if kind == "plan_verified":
            self._left_behind &= {_name(line) for line in self._view.lines if line.settled}
        if kind in AFTER_THE_STEPS:
            self._leave(ended=True)
        if kind not in IN_THE_FRAME and (line := self._line(mode, chunk)) is not None:
            self._print(line)

    def _line(self, mode: str, chunk: Any) -> RenderableType | None:
        if mode == "custom":
            card = chunk["data"].get("plan")
            left_out = is_aside if self._terminal.talking else is_detail
            failures = (line.note for line in self._view.lines if line.state == "failed")
            if not self._terminal.verbose and (left_out(chunk) or repeats(chunk, failures)):
                return None
            if chunk["type"] == "plan_verified" and card and "reads_first" not in chunk["data"]:
                self._plans.add((card["plan_id"], card["revision"]))
            return event_line(chunk, verbose=self._terminal.verbose, models=not self._view.embedded)
        if not self._terminal.verbose:
            return None
        updates = (update for update in chunk.values() if isinstance(update, dict))
        route = next((update["route"] for update in updates if update.get("route")), None)
        return views.model_line(route.model_dump()) if route else None

    def _leave(self, ended: bool) -> None:
        """Print the lines that are not on the screen for good yet; the frame lets go of them."""
        lines = self._view.lines
        new = [line for line in lines if line.state != "pending" and _name(line) not in self._left_behind]
        if new and not self._terminal.talking:
            self._print(left_behind(new, time.time(), self._terminal.screen.width))
        begun = any(line.state != "pending" for line in lines)
        if begun and not self._terminal.talking and (rest := sum(line.state == "pending" for line in lines)):
            self._print(Text(f"  ◷ {rest} more to come", "dim"))
        self._left_behind |= {_name(line) for line in new if line.settled}
        if ended:
            calls = tuple(line for line in lines if line.id)
            self._view = replace(self._view, lines=calls)
            self._over = True

    def _frame(self) -> RenderableType:
        if self._over and not (self._view.answer or self._view.thinking):
            return ""
        view = replace(self._view, lines=()) if self._over else self._view
        width, height = self._terminal.screen.size
        return frame(view, time.time(), width - 1, height - 1, self._settings.budgets.run)


def _on_record(agent: Agent, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Go through the chunks of a stream; what a step brought is on record when its end comes."""
    for mode, chunk in chunks:
        if mode == "custom" and chunk["type"] == "plan_step_complete":
            agent.stores.database.look(lambda _: None)
        yield mode, chunk


def _answer_in(chunk: Chunk) -> str | None:
    """Read the answer of a run from the event that tells it; None from anything else."""
    mode, event = chunk
    return str(event["data"]["content"]) if mode == "custom" and event["type"] == "agent_message" else None


def print_answer(answer: str) -> None:
    """Print an answer on stdout: broken between words where a person reads it, to a pipe as it is.

    On a screen it is indented: in the first column stands what the program says, and asks.
    """
    text = views.safe(answer)
    if sys.stdout.isatty():
        width = views.console().width - len(ANSWER_INDENT)
        text = "\n".join(ANSWER_INDENT + row for line in text.split("\n") for row in chop(line, width))
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _name(line: RunLine) -> str:
    return line.id or line.uid
