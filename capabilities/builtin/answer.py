"""The two ways a plan ends: an answer, or questions. The nodes of those names carry them out."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from planwright.capabilities.contract import Guide
from planwright.capabilities.declaration import capability


@capability(
    "respond",
    mode="read_only",
    tags=("answer", "respond", "tell"),
    guide=Guide("Ends the plan: tells the user what came out. Always the last step.", (), 900),
    trusted_result=True,
    reads=(),
)
def respond(text: Annotated[str, Field(description="a draft of the answer, may be empty")] = "") -> str:
    """Answer the user from the results of the other steps."""
    return text


@capability(
    "clarify",
    mode="read_only",
    tags=("ask", "clarify", "question"),
    guide=Guide("Ends the plan by asking 1 to 4 questions, when the request cannot be understood.", (), 910),
    trusted_result=True,
    reads=(),
)
def clarify(questions: Annotated[list[str], Field(min_length=1, max_length=4)]) -> list[str]:
    """Ask the user what is meant."""
    return questions
