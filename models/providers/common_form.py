"""Replies of servers that spell chat completions in ways of their own, put into the documented form.

Pure functions over one completion, or one chunk of a streamed one: ids, indexes, roles, contents, calls, the
reason of the end and the usage (https://platform.openai.com/docs/api-reference/chat).
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from planwright.models.providers.sent_back import SENT_BACK, Json, SentBack

_Speller = Callable[[int, Json], Json]
_ENDED = (
    *("stop", "stop_sequence", "complete", "completed", "done", "finish", "finished", "success", "ok"),
    *("end", "end_turn", "eos", "eos_token", "endoftext"),
)
_LONG = (
    *("length", "max_tokens", "max_output_tokens", "max_completion_tokens", "token_limit", "model_length"),
    *("model_context_window_exceeded", "incomplete", "not_finished"),
)
_HELD_BACK = (
    *("content_filter", "content_filtered", "guardrail_intervened", "refusal", "safety", "recitation"),
    *("blocklist", "prohibited_content", "spii"),
)
_ENDS = {
    **dict.fromkeys(_ENDED, "stop"),
    **dict.fromkeys(_LONG, "length"),
    **dict.fromkeys(_HELD_BACK, "content_filter"),
    **dict.fromkeys(("tool_calls", "tool_call", "tool_use", "function_call"), "tool_calls"),
}
_REPEATED = re.compile(r"(.+?)\1*")  # joined from chunks that each say it
_LONGEST_END = 60
WHOLE = ("stop", "tool_calls")
_FENCE = "```"
REASONING = "reasoning_content"  # langchain-core shows a message's field of this name as a block of its own


def completion(body: Mapping[str, object]) -> Json:
    """Put a whole completion into the documented form; what is none becomes the error that it tells of."""
    choices = [_choice(position, choice) for position, choice in enumerate(json_objects(body.get("choices")))]
    if error := error_in(body) or (None if choices else as_error(no_completion(body))):
        return error
    return {
        **body,
        **head_of(body, "chat.completion"),
        "choices": choices,
        "usage": read_usage(body.get("usage")),
    }


def as_error(says: str) -> Json:
    """Spell what a server says, or what is wrong with its reply, as the documented error."""
    return {"error": {"message": says, "code": None}}


def error_in(body: Mapping[str, object]) -> Json | None:
    """Find the error that a body tells of, in whichever form its server does; None where it is none.

    Older vLLM says `"object": "error"` beside the words; others say a text where an object is documented.
    """
    error = body.get("error")
    if body.get("object") == "error":
        error = {name: held for name, held in body.items() if name != "object"}
    if not error:
        return None
    more = dict(error) if isinstance(error, Mapping) else {}
    return {"error": {"code": None, **more, "message": _words(more.get("message") or error)}}


def _words(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def no_completion(body: Mapping[str, object]) -> str:
    return f"it is no chat completion: {_words(dict(body))}"


def plain_arguments(text: str) -> str:
    """Take the arguments of a call out of a fence or a second encoding; "" and null are none.

    What is JSON and no object is spelled so that it is none: like broken JSON it goes back to the model. All
    else stays.
    """
    text = _unfenced(text)
    if text.strip() in ("", "null"):
        return "{}"
    if text.lstrip().startswith("{"):
        return text
    try:
        inner = json.loads(text)
    except ValueError:
        return text
    with contextlib.suppress(ValueError):
        if isinstance(inner, str) and isinstance(json.loads(inner), dict):
            return inner
    return f"no object: {text}"


def _unfenced(text: str) -> str:
    first, _, rest = text.strip().partition("\n")
    fenced = first.rstrip() in (_FENCE, f"{_FENCE}json") and rest.endswith(_FENCE)
    return rest.removesuffix(_FENCE).strip() if fenced else text


def read_usage(value: object) -> Json | None:
    """Read what was used; None where it is not said in numbers."""
    if not isinstance(value, Mapping):
        return None
    counts = {name: _number(value.get(name)) for name in ("prompt_tokens", "completion_tokens")}
    if None in counts.values():
        return None
    total = _number(value.get("total_tokens"))
    details = {name: detail for name, detail in value.items() if isinstance(detail, Mapping)}
    return {**details, **counts, "total_tokens": total or sum(filter(None, counts.values()))}


def read_reason(value: object, calls: bool) -> str | None:
    """Name the reason of the end as documented; None where there is none yet.

    What is not known stays as it is told: nobody can say that such a reply is whole.
    """
    if not value:
        return None
    name = str(getattr(value, "name", value)).strip().lower()[:_LONGEST_END]
    once = _REPEATED.fullmatch(name)
    known = _ENDS.get(once[1] if once else name, name)
    return "tool_calls" if calls and known == "stop" else known


def head_of(body: Mapping[str, object], kind: str) -> Json:
    created, id_ = body.get("created"), body.get("id")
    return {
        "id": str(id_) if id_ else "chatcmpl-0",
        "object": kind,
        "created": _number(created) or 0,
        "model": str(body.get("model") or ""),
    }


def _choice(position: int, choice: Json) -> Json:
    sent_back = SentBack()
    if isinstance(piece := choice.get("message"), Mapping):
        sent_back.add(piece)
    message = format_message(choice.get("message"), partial(_whole_call, sent_back))
    message.setdefault("content", None)
    message["role"] = "assistant"
    if own := sent_back.whole():
        message[SENT_BACK] = own
    end = read_reason(choice.get("finish_reason"), bool(message.get("tool_calls")))
    whole = "tool_calls" if message.get("tool_calls") else "stop"  # nothing is missing of a whole reply
    return {**choice, "index": position, "message": message, "finish_reason": end or whole}


def format_message(value: object, spell: _Speller) -> Json:
    message: Json = dict(value) if isinstance(value, Mapping) else {}
    if not message.get("role"):
        message.pop("role", None)
    if thoughts := _thoughts(message):
        message[REASONING] = thoughts
    if isinstance(content := message.get("content"), list):
        message["content"] = "".join(_texts(content))
    if not message.get("content") and isinstance(refusal := message.get("refusal"), str) and refusal:
        message["content"] = refusal
    calls = [spell(position, call) for position, call in enumerate(_calls(message))]
    if calls:
        message["tool_calls"] = calls
    else:
        message.pop("tool_calls", None)
    return message


def _calls(message: Json) -> list[Json]:
    """List the calls of a message, also where it has one only and no list, or the function of older APIs."""
    calls, legacy = message.get("tool_calls"), message.pop("function_call", None)
    if isinstance(legacy, Mapping) and not calls:
        return [{"index": 0, "function": dict(legacy)}]
    return json_objects([calls] if isinstance(calls, Mapping) else calls)


def _whole_call(sent_back: SentBack, position: int, call: Json) -> Json:
    function = function_of(call)
    sent_back.add_call(_call_id(call, position), call)
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else format_arguments(arguments, "{}")
    function["arguments"] = plain_arguments(text)
    return {**call, "id": _call_id(call, position), "type": "function", "function": function}


def function_of(call: Json) -> Json:
    function = call.get("function")
    return dict(function) if isinstance(function, Mapping) else {}


def _call_id(call: Json, position: int) -> str:
    return str(call.get("id") or f"call_{position}")


def format_arguments(arguments: object, nothing: str) -> str:
    return nothing if arguments is None else json.dumps(arguments, ensure_ascii=False)


def _texts(parts: Iterable[object]) -> Iterable[str]:
    """Take the texts out of the parts of a content; what a model thought is no part of its answer."""
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, Mapping) and isinstance(text := part.get("text"), str):
            yield text


def _thoughts(message: Json) -> str:
    """Join what a model says of its thinking, in whichever field its server puts that."""
    fields = (message.pop(name, None) for name in (REASONING, "reasoning"))
    parts = content if isinstance(content := message.get("content"), list) else []
    thinking = [part.get("thinking") for part in json_objects(parts) if part.get("type") == "thinking"]
    sources = [*fields, *("".join(_texts(each)) if isinstance(each, list) else each for each in thinking)]
    return next((text for text in sources if isinstance(text, str) and text), "")


def _number(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return int(value) if math.isfinite(value) else None
    return int(value) if isinstance(value, str) and value.isdecimal() else None


def json_objects(value: object) -> list[Json]:
    return [dict(entry) for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []
