"""Every fault that aimock can play at a chat completion: its fixture, and what is to come of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from email.utils import formatdate
from time import time
from typing import Any

from benchmarks.aimock_server import Fixture
from benchmarks.model_desk import NAMES

UNAVAILABLE, KEY, REJECT = "ModelUnavailable", "KeyRefused", "ModelRejected"
LONG, BROKEN = "ContextOverflow", "ModelInterrupted"
TURNS = (0, 1, 2)
WORDS = "One moment: "
ARGUMENTS = {"title": "Grüße „an“ alle\n", "tags": ["a", {"b": [1, 2.5, None, True]}], "note": "x" * 200}
CALL = {"name": "note", "arguments": ARGUMENTS, "id": "call_1"}
GOOD: dict[str, Any] = {"content": WORDS, "toolCalls": [CALL]}
TOOL_FIRST: dict[str, Any] = {"blocks": [{"type": "toolCall", **CALL}, {"type": "text", "text": WORDS}]}
PACE_MS, FOREVER_MS = 15, 30_000
DOWN, UP = "down", "up"  # models that always fail, and never
SPENT = {"message": "You exceeded your current quota", "code": "insufficient_quota"}
TOO_LONG = {
    "message": "This model's maximum context length is 8192 tokens",
    "code": "context_length_exceeded",
}


@dataclass(frozen=True)
class Fault:
    """What a fixture says beside its match, and the error that comes out where nobody else may serve.

    Without an outcome the reply is served, and asks for `calls`. It strikes in the modes that are `streamed`;
    a provider that plays it may ask to be left alone.
    """

    plays: Mapping[str, Any]
    outcome: str = ""
    streamed: tuple[bool, ...] = (False, True)
    calls: tuple[Mapping[str, Any], ...] = (ARGUMENTS,)
    slow: bool = False
    asks_for_ms: int = 0


def _status(code: int, outcome: str, says: str = "no", **more: Any) -> Fault:
    return Fault({"response": {"error": {"message": says}, "status": code, **more}}, outcome)


def _chaos(outcome: str = UNAVAILABLE, **rates: float) -> Fault:
    return Fault({"response": GOOD, "chaos": rates}, outcome, slow=rates.get("latencyMs") == FOREVER_MS)


def _says(calls: tuple[Mapping[str, Any], ...] = (ARGUMENTS,), **response: Any) -> Fault:
    return Fault({"response": response}, calls=calls)


def _stream(outcome: str, response: Mapping[str, Any] = GOOD, slow: bool = False, **plays: Any) -> Fault:
    return Fault({"response": response, **plays}, outcome, streamed=(True,), slow=slow)


STATUSES = {
    **{str(code): _status(code, REJECT) for code in (302, 400, 404, 405, 418, 422, 451)},
    **{str(code): _status(code, KEY) for code in (401, 402, 403)},
    **{str(code): _status(code, UNAVAILABLE) for code in (408, 409, 425, 500, 501, 502, 503, 504, 529)},
    "413": _status(413, LONG),
    "429": replace(_status(429, UNAVAILABLE), asks_for_ms=1000),  # aimock says so where nothing else is said
    "429 in a moment": replace(_status(429, UNAVAILABLE, retryAfter=0.2), asks_for_ms=200),
    "429 date": _status(429, UNAVAILABLE, retryAfter=formatdate(time() + 1, usegmt=True)),
    "429 past date": _status(429, UNAVAILABLE, retryAfter="Wed, 21 Oct 2015 07:28:00 GMT"),
    "429 huge": _status(429, UNAVAILABLE, retryAfter=1e12),
    "429 negative": _status(429, UNAVAILABLE, retryAfter=-5),
    "429 words": _status(429, UNAVAILABLE, retryAfter="soon"),
    "429 spent": Fault({"response": {"error": SPENT, "status": 429}}, KEY),
    "rate limit in words": _status(400, UNAVAILABLE, "Rate limit reached for requests"),
    "overload in words": _status(400, UNAVAILABLE, "The model is overloaded"),
    "overflow in words": Fault({"response": {"error": TOO_LONG, "status": 400}}, LONG),
    "error in a 200": _status(200, UNAVAILABLE, "The engine is overloaded"),
    "overflow in a 200": Fault({"response": {"error": TOO_LONG, "status": 200}}, LONG),
    "wrong kind of reply": Fault({"response": {"audio": "AAAA"}}, REJECT),
    "no reply at all": Fault({"response": {"json": {"hello": "world"}}}, UNAVAILABLE),
}
CHAOS = {
    "dropped": _chaos(dropRate=1),
    "malformed": _chaos(malformedRate=1),
    "limited": replace(_chaos(rateLimitRate=1), asks_for_ms=1000),
    "disconnected": _chaos(disconnectRate=1),
    "late": _chaos("", latencyMs=150),
    "too late": _chaos(latencyMs=FOREVER_MS),
}
STREAMS = {
    "stream cut in one go": _stream(UNAVAILABLE, truncateAfterChunks=7),  # what is written at once is lost
    "stream cut at once": _stream(UNAVAILABLE, truncateAfterChunks=2, latency=PACE_MS),
    "stream cut in words": _stream(BROKEN, truncateAfterChunks=4, latency=PACE_MS, chunkSize=4),
    "stream cut in a call": _stream(BROKEN, truncateAfterChunks=9, latency=PACE_MS),
    "stream cut in the first call": _stream(BROKEN, TOOL_FIRST, truncateAfterChunks=5, latency=PACE_MS),
    "stream gone before words": _stream(UNAVAILABLE, latency=400, disconnectAfterMs=50),
    "stream gone in words": _stream(BROKEN, latency=60, disconnectAfterMs=170, chunkSize=1),
    "stream never begins": _stream(UNAVAILABLE, slow=True, streamingProfile={"ttft": FOREVER_MS}),
    "stream stops": _stream(
        BROKEN,
        slow=True,
        recordedTimings={
            "ttftMs": 0,
            "interChunkDelaysMs": [0, 0, FOREVER_MS],
            "totalDurationMs": FOREVER_MS,
        },
    ),
    "stream drips": _stream(BROKEN, slow=True, chunkSize=1, streamingProfile={"tps": 20}),
    "stream jitters": _stream("", streamingProfile={"ttft": 60, "tps": 200, "jitter": 1}),
    "stream in crumbs": _stream("", chunkSize=1),
    "stream with keepalives": _stream("", openRouterProcessing=True),
}
BROKE_OFF = _says(**GOOD, finishReason="error")  # as OpenRouter says it
LIST = _says((), toolCalls=[{**CALL, "arguments": "[1, 2]"}])
REPLIES = {
    "broke off": replace(BROKE_OFF, outcome=UNAVAILABLE, streamed=(False,)),
    "broke off, streamed": replace(BROKE_OFF, outcome=BROKEN, streamed=(True,)),
    "call before words": _says(**TOOL_FIRST),
    "call without words": _says(toolCalls=[CALL]),
    "call without id": _says(toolCalls=[{"name": "note", "arguments": ARGUMENTS}]),
    "two calls": _says(
        (ARGUMENTS, {"second": 2}), toolCalls=[CALL, {"name": "note", "arguments": {"second": 2}}]
    ),
    "calls of one id": _says(
        (ARGUMENTS, {"second": 2}),
        toolCalls=[CALL, {"name": "note", "arguments": {"second": 2}, "id": "call_1"}],
    ),
    "calls that end in stop": _says(**GOOD, finishReason="stop"),
    "calls after thoughts": _says(**GOOD, reasoning="Let me think."),
    "calls for nothing": _says(**GOOD, usage={"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}),
    "call cut off": _says((), toolCalls=[{**CALL, "arguments": '{"title": "Gr'}], finishReason="length"),
    "call of a list": replace(
        LIST, outcome=UNAVAILABLE, streamed=(False,)
    ),  # langchain-openai stumbles over it
    "call of a list, streamed": replace(LIST, streamed=(True,)),
    "call of no JSON": _says((), toolCalls=[{**CALL, "arguments": "title=1"}]),
    "no calls after all": _says((), content="Done.", toolCalls=[]),
    "words only": _says((), content="Done."),
    "words cut off": _says((), content="Done and then", finishReason="length"),
    "words held back": _says((), content="Done and then", finishReason="content_filter"),
    "empty": _says((), content=""),
}
FAULTS: dict[str, Fault] = {**STATUSES, **CHAOS, **STREAMS, **REPLIES}


@dataclass(frozen=True)
class Case:
    """One fault, the turn at which it strikes, the provider by its place in the order, and the mode."""

    name: str
    turn: int
    place: int
    streams: bool

    @property
    def fault(self) -> Fault:
        """What is played."""
        return FAULTS[self.name]

    @property
    def expected(self) -> str:
        """The class of the error that comes out; empty when somebody serves."""
        replaced = self.fault.outcome in (UNAVAILABLE, KEY) and self.place < len(NAMES) - 1
        return "" if replaced else self.fault.outcome


def cases() -> list[Case]:
    """List every fault at every turn, place and mode."""
    return [
        Case(name, turn, place, streams)
        for name, fault in FAULTS.items()
        for turn in TURNS
        for place in range(len(NAMES))
        for streams in fault.streamed
    ]


def model_of(fault: str, turn: int) -> str:
    """Name the model that plays a fault at a turn."""
    return f"{fault}@{turn}"


def fixtures() -> list[Fixture]:
    """Write the fixtures of all faults, at every turn; whatever else is asked gets the good answer."""
    struck = [
        {"match": {"model": model_of(name, turn), "turnIndex": turn}, **fault.plays}
        for name, fault in FAULTS.items()
        for turn in TURNS
    ]
    down = {"match": {"model": DOWN}, "response": GOOD, "chaos": {"dropRate": 1}}
    return [*struck, down, {"match": {}, "response": GOOD}]
