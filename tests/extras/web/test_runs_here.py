"""What a run on the page says is passed on as it is written: words of its model, and no results of calls."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessageChunk, BaseMessage, ToolMessage

from planwright.extras.web.runs_here import RunsHere


def test_results_of_calls_are_no_pieces_of_the_answer() -> None:
    pieces: list[str] = []
    nobody: Any = None
    runs = RunsHere(nobody, lambda thread_id, text, message_id: pieces.append(text))
    at = {"langgraph_node": "agentic_loop"}
    messages: list[BaseMessage] = [ToolMessage("4711", tool_call_id="c0"), AIMessageChunk(content="Done.")]
    for message in messages:
        runs._pass_on("t", message, at)
    assert pieces == ["Done."]
