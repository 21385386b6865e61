"""What a finished run could remember: found by a model, or by rule where only the embedded planner serves.

Nothing is proposed that does not lean on the user's own words: what a tool returned may be in the answer,
and the answer proves nothing.
"""

from __future__ import annotations

from itertools import islice

from pydantic import ValidationError

from planwright.domain.errors import LimitExceeded, ModelError, ModelOutputInvalid, SetupError
from planwright.domain.memory_proposal import Candidate
from planwright.language.first_person import exact_words, holds, may_be_kept, own_words, speaks_of_user
from planwright.language.remembering import spoken
from planwright.models.calling import Models
from planwright.models.json_reply import read_json
from planwright.models.model_calls import Prompt
from planwright.prompts import render, section
from planwright.records.memories import Memories
from planwright.security.redaction.redactor import Redactor
from planwright.settings.memory import MemorySettings
from planwright.state.agent_state import ModelRoute
from planwright.state.invocation import Invocation

REQUEST, ANSWER, KNOWN, WHY = 4000, 2000, 10, 200


class Proposing:
    """Look for what a run could remember, with one short call of a model at the most."""

    def __init__(self, models: Models, memories: Memories, settings: MemorySettings) -> None:
        self._models = models
        self._memories = memories
        self._settings = settings

    async def find(
        self, request: str, answer: str, route: ModelRoute | None, invocation: Invocation
    ) -> list[Candidate]:
        """List candidates, by rule where there is no model, or where it fails, which is told."""
        candidates = spoken(request)
        if route is not None and speaks_of_user(request):
            try:
                candidates = await self._ask(request, answer, route, invocation)
            except (ModelError, LimitExceeded, SetupError) as error:
                invocation.emit("memory_failed", {"cause": error.cause}, "run")
        return sound(candidates, request, invocation.redactor, self._settings.most)

    async def _ask(
        self, request: str, answer: str, route: ModelRoute, invocation: Invocation
    ) -> list[Candidate]:
        own = own_words(request)[:REQUEST]
        known = await self._memories.search(own, invocation.context.tenant, KNOWN)
        prompt = Prompt(
            "consolidate",
            render("consolidate", most=str(self._settings.most)),
            "".join(
                [
                    section("request", own),
                    section("answer", answer[:ANSWER], foreign=True),
                    section("known", [memory.text for memory in known], foreign=True),
                ]
            ),
            schema=reply_schema(self._settings.most),
            timeout_s=self._settings.timeout_s,
            max_tokens=self._settings.max_tokens,
            temperature=0,
        )
        reply = await self._models.complete(route, prompt, invocation, "consolidate")
        return read_candidates(reply, self._settings.most)


def reply_schema(most: int) -> dict[str, object]:
    """Say what a model answers with."""
    text = {"type": "string"}
    fields = {"said": text, "text": text, "why": text}
    memory = {"type": "object", "properties": fields, "required": ["said", "text"]}
    return {
        "type": "object",
        "properties": {"memories": {"type": "array", "items": memory, "maxItems": most}},
        "required": ["memories"],
    }


def read_candidates(reply: str, most: int) -> list[Candidate]:
    """Read the first that a model proposes; an entry that is none is left out. Raises ModelOutputInvalid.

    Its tags are dropped: they lean on nothing the user said, and would be remembered along with the text.
    """
    entries = read_json(reply)[0].get("memories")
    if not isinstance(entries, list):
        raise ModelOutputInvalid("the reply has no list of memories", "answer as the schema says")
    return [candidate for entry in entries[:most] if (candidate := _candidate(entry))]


def sound(candidates: list[Candidate], request: str, redactor: Redactor, most: int) -> list[Candidate]:
    """Keep the first that lean on the user's own words, and speak of no secret.

    Numbers, dates and addresses have to be the user's, too: they are what an answer could smuggle in.
    """
    own = own_words(request)
    acceptable = (
        candidate
        for candidate in candidates
        if _leans_on(own, candidate) and not redactor.held_in([candidate.text, candidate.said])
    )
    return list(islice(acceptable, most))


def _leans_on(own: str, candidate: Candidate) -> bool:
    quoted = may_be_kept(candidate.text) and may_be_kept(candidate.said) and holds(own, candidate.said)
    return quoted and all(holds(own, word) for word in exact_words(candidate.text))


def _candidate(entry: object) -> Candidate | None:
    try:
        candidate = Candidate.model_validate(entry)
    except ValidationError:
        return None
    quote, text = _line(candidate.said), _line(candidate.text)
    return Candidate(said=quote, text=text, why=_line(candidate.why)[:WHY]) if quote and text else None


def _line(text: str) -> str:
    return " ".join(text.split())
