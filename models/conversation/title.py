"""The title of a thread: its first request, shortened, or what the model of the role `fast` calls it."""

from __future__ import annotations

import re

from planwright.domain.errors import LimitExceeded, ModelError, SetupError
from planwright.models.calling import Models
from planwright.models.model_calls import Prompt
from planwright.prompts import render
from planwright.state.agent_state import ModelRoute
from planwright.state.invocation import Invocation

LONGEST = 60
READ = 2000  # characters of a request that a title is made of
NAME_TOKENS = 32
_POLITE = re.compile(
    r"^(please|can you|could you|would you|i need you to|hi|hello|hey)\b[\s,]*", re.IGNORECASE
)


def title(request: str, limit: int = LONGEST) -> str:
    """Shorten a request to a title of at most `limit` characters, at a word; a mere greeting is its own."""
    whole = " ".join(request.split())
    plain = (_POLITE.sub("", whole).strip(" ,.!?") and _POLITE.sub("", whole)) or whole
    plain = plain[:1].upper() + plain[1:]
    return plain if len(plain) <= limit else plain[: limit - 1].rsplit(" ", 1)[0] + "…"


async def title_by(models: Models, route: ModelRoute | None, request: str, invocation: Invocation) -> str:
    """Ask the model of the role `fast` for a title; by rule where none is set, or where it fails."""
    if route is None or models.router.role("fast", route) is None:
        return title(request)
    prompt = Prompt(
        role="title",
        system=render("title"),
        user=request[:READ],
        max_tokens=NAME_TOKENS,
        temperature=0,
    )
    try:
        words = await models.complete(route, prompt, invocation, "title")
    except (ModelError, LimitExceeded, SetupError):
        return title(request)
    first = next((line for line in words.splitlines() if line.strip()), "")
    return title(first.strip(" \"'“”.")) or title(request)
