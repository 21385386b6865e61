"""Servers of chat completions that refuse what the real ones refuse, each by its public documentation."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

from benchmarks.contract_chat import ChatFamily, Refused, cut, event
from benchmarks.contract_model import Json, Reply


class OpenAI(ChatFamily):
    """A model of OpenAI that thinks, by chat completions: it says nothing of its thoughts."""

    name = "openai"

    def check_parameters(self, request: Json) -> None:
        """Refuse what models that think do not take."""
        super().check_parameters(request)
        if "max_tokens" in request:
            raise self.refused_parameter("max_tokens", "Use 'max_completion_tokens' instead.")
        if request.get("temperature", 1) != 1:
            only = "Only the default (1) value is supported."
            raise Refused(f"Unsupported value: 'temperature' does not support this value. {only}")

    def refused_parameter(self, name: str, then: str) -> Refused:
        """Refuse a parameter."""
        text = f"Unsupported parameter: '{name}' is not supported with this model. {then}"
        body = {"message": text, "type": "invalid_request_error", "param": name}
        return Refused(text, {"error": {**body, "code": "unsupported_parameter"}})


class Azure(OpenAI):
    """The same model at Azure: a stream begins with what its filter says of the prompt."""

    name = "azure"
    path = "/openai/v1/chat/completions"
    source = "https://learn.microsoft.com/azure/ai-foundry/openai/reference"

    def whole(self, reply: Reply, request: Json) -> Json:
        """Say what the filter found, too."""
        whole = super().whole(reply, request)
        whole["choices"][0]["content_filter_results"] = {}
        return {**whole, "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}]}

    def events(self, reply: Reply, request: Json) -> Iterator[bytes]:
        """Begin with what the filter says."""
        found = [{"prompt_index": 0, "content_filter_results": {}}]
        yield event({"id": "", "object": "", "created": 0, "choices": [], "prompt_filter_results": found})
        yield from super().events(reply, request)


class DeepSeek(ChatFamily):
    """DeepSeek in thinking mode: what it thought before calls is wanted back, also where that is empty."""

    name = "deepseek"
    path = "/chat/completions"
    model = "deepseek-v4-pro"
    source = "https://api-docs.deepseek.com/guides/thinking_mode"
    fields = ChatFamily.fields | {"reasoning_content", "prefix"}

    def check_parameters(self, request: Json) -> None:
        """Refuse a tool that has to be called."""
        super().check_parameters(request)
        if request.get("tool_choice", "auto") not in ("auto", "none"):
            raise Refused("deepseek-reasoner does not support this tool_choice")

    def check_reply(self, at: int, message: Json, *, current: bool) -> None:
        """Refuse calls without what was thought before them."""
        if message.get("tool_calls") and not isinstance(message.get("reasoning_content"), str):
            text = "The `reasoning_content` in the thinking mode must be passed back to the API."
            body = {"message": text, "type": "invalid_request_error", "param": None}
            raise Refused(text, {"error": {**body, "code": "invalid_request_error"}})

    def decorate(self, message: Json, reply: Reply, number: int) -> None:
        """Say what was thought; before a second call it is nothing."""
        message["reasoning_content"] = reply.thoughts if number % 3 else ""


class Gemini(ChatFamily):
    """Gemini 3 by Google's OpenAI endpoint: the first call of a reply is signed, and wanted back so."""

    name = "gemini"
    path = "/v1beta/openai/chat/completions"
    model = "gemini-3-pro-preview"
    source = "https://ai.google.dev/gemini-api/docs/thought-signatures"
    fields = ChatFamily.fields | {"extra_content"}
    call_fields = ChatFamily.call_fields | {"extra_content"}

    def check_reply(self, at: int, message: Json, *, current: bool) -> None:
        """Refuse calls of the current turn without a signature, or with another."""
        calls = message.get("tool_calls") or []
        if not calls or not current:
            return
        signature = calls[0].get("extra_content", {}).get("google", {}).get("thought_signature")
        name = calls[0]["function"]["name"]
        if not signature:
            why = "This is required for tools to work correctly"
            raise self._refusal(
                f"Function call is missing a thought_signature in functionCall parts. {why}, and missing"
                " thought_signature may lead to degraded model performance. Additional data, function call"
                f" `default_api:{name}` , position {at}."
            )
        if signature not in (self._signature(number) for number in range(1, self.count + 1)):
            raise self._refusal("Corrupted thought signature.")

    def unknown(self, at: int, name: str) -> Refused:
        """Refuse a field that is none, as Google's JSON reader does."""
        text = (
            f"Invalid JSON payload received. Unknown name \"{name}\" at 'messages[{at}]': Cannot find field."
        )
        return self._refusal(text)

    def decorate(self, message: Json, reply: Reply, number: int) -> None:
        """Sign the first call."""
        if calls := message.get("tool_calls"):
            calls[0]["extra_content"] = {"google": {"thought_signature": self._signature(number)}}

    def _signature(self, number: int) -> str:
        return f"CrICAdHtim827fQ+{number}/=="

    def _refusal(self, text: str) -> Refused:
        return Refused(text, [{"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}])


class OpenRouter(Gemini):
    """OpenRouter before a model that signs: its `reasoning_details` are wanted back as they were."""

    name = "openrouter"
    path = "/api/v1/chat/completions"
    model = "google/gemini-3-pro-preview"
    source = "https://openrouter.ai/docs/use-cases/reasoning-tokens"
    fields = ChatFamily.fields | {"reasoning", "reasoning_details", "reasoning_content"}
    call_fields = ChatFamily.call_fields

    def check_reply(self, at: int, message: Json, *, current: bool) -> None:
        """Refuse calls of the current turn without the details that came with them."""
        if message.get("tool_calls") and current and not message.get("reasoning_details"):
            raw = "Function call is missing a thought_signature in functionCall parts."
            metadata = {"raw": raw, "provider_name": "Google AI Studio"}
            body = {"message": "Provider returned error", "code": 400, "metadata": metadata}
            raise Refused(raw, {"error": body, "user_id": "user_1"})

    def decorate(self, message: Json, reply: Reply, number: int) -> None:
        """Say what was thought: as text that is signed, and encrypted."""
        message["reasoning"] = reply.thoughts
        form = {"format": "google-gemini-v1", "index": 0}
        message["reasoning_details"] = [
            {"type": "reasoning.text", "text": reply.thoughts, "signature": f"sig-{number}", **form},
            {"type": "reasoning.encrypted", "data": f"ENC{number}", "id": f"rs_{number}", **form},
        ]

    def pieces(self, name: str, value: Any) -> Iterator[Json]:
        """Send the text of the details piece by piece, then its signature, then what is encrypted."""
        if name != "reasoning_details":
            yield from super().pieces(name, value)
            return
        text, encrypted = value
        rest = {key: held for key, held in text.items() if key not in ("text", "signature")}
        for part in cut(text["text"]):
            yield {name: [{**rest, "text": part}]}
        yield {name: [{**rest, "signature": text["signature"]}]}
        yield {name: [encrypted]}


class Vllm(ChatFamily):
    """Qwen by vLLM with a parser for its thoughts: `reasoning`, which its template wants back."""

    name = "vllm"
    model = "Qwen/Qwen3.6-35B-A3B"
    source = "https://docs.vllm.ai/en/latest/features/reasoning_outputs.html"
    lenient = True

    def check_reply(self, at: int, message: Json, *, current: bool) -> None:
        """Refuse arguments that are no JSON: the template reads them."""
        for call in message.get("tool_calls") or ():
            json.loads(call["function"]["arguments"])

    def decorate(self, message: Json, reply: Reply, number: int) -> None:
        """Say what was thought."""
        message |= {"reasoning": reply.thoughts, "refusal": None, "annotations": None, "function_call": None}


class Ollama(ChatFamily):
    """A model that thinks by the OpenAI endpoint of Ollama."""

    name = "ollama"
    model = "qwen3:8b"
    source = "https://docs.ollama.com/api/openai-compatibility"
    lenient = True

    def decorate(self, message: Json, reply: Reply, number: int) -> None:
        """Say what was thought."""
        message["reasoning"] = reply.thoughts


class Mistral(ChatFamily):
    """Magistral: a content that is a list with thoughts in it; no field more than is documented."""

    name = "mistral"
    model = "magistral-medium-latest"
    source = "https://docs.mistral.ai/capabilities/reasoning"
    fields = frozenset(("role", "content", "tool_calls", "tool_call_id", "name", "prefix"))
    call_fields = ChatFamily.call_fields | {"index"}

    def check_parameters(self, request: Json) -> None:
        """Refuse parameters that are not documented."""
        super().check_parameters(request)
        for name in ("max_completion_tokens", "stream_options"):
            if name in request:
                raise self._forbidden(name)

    def check_order(self, messages: list[Json]) -> None:
        """Refuse a user who speaks after a result, and ids that are not its own."""
        for before, message in itertools.pairwise(messages):
            if (before["role"], message["role"]) == ("tool", "user"):
                raise self._refusal(
                    "Unexpected role 'user' after role 'tool'", "invalid_request_message_order"
                )
        for message in messages:
            for call in message.get("tool_calls") or ():
                if not re.fullmatch("[a-zA-Z0-9]{9}", call["id"]):
                    text = f"Tool call id was {call['id']} but must be a-z, A-Z, 0-9, with a length of 9."
                    raise self._refusal(text, "invalid_function_call")

    def unknown(self, at: int, name: str) -> Refused:
        """Refuse a field that is none."""
        return self._forbidden("messages", at, "assistant", name)

    def call_id(self, number: int, position: int) -> str:
        """Make an id of nine letters and digits."""
        return f"call{number:03d}{position:02d}"

    def decorate(self, message: Json, reply: Reply, number: int) -> None:
        """Put thoughts and words into the content."""
        text = [{"type": "text", "text": reply.text}] if reply.text else []
        thoughts = [{"type": "text", "text": reply.thoughts}]
        message["content"] = [{"type": "thinking", "thinking": thoughts}, *text]

    def deltas(self, message: Json) -> Iterator[Json]:
        """Send thoughts as lists, and words as texts."""
        thoughts, *words = message["content"]
        for part in cut(thoughts["thinking"][0]["text"]):
            yield {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": part}]}]}
        text = "".join(part["text"] for part in words)
        yield from super().deltas({**message, "content": text})

    def _forbidden(self, *where: object) -> Refused:
        found = {"type": "extra_forbidden", "loc": ["body", *where], "msg": "Extra inputs are not permitted"}
        body = {"object": "error", "message": {"detail": [found]}, "type": "invalid_request_error"}
        return Refused(f"extra_forbidden: {where}", body, 422)

    def _refusal(self, text: str, kind: str) -> Refused:
        return Refused(
            text, {"object": "error", "message": text, "type": kind, "param": None, "code": "3230"}
        )


class Groq(ChatFamily):
    """A model that thinks at Groq: `reasoning`, and no property that it does not know."""

    name = "groq"
    path = "/openai/v1/chat/completions"
    model = "openai/gpt-oss-120b"
    source = "https://console.groq.com/docs/reasoning"
    fields = ChatFamily.fields - {"refusal", "audio"} | {"reasoning"}

    def unknown(self, at: int, name: str) -> Refused:
        """Refuse a property."""
        why = f"('messages.{at}' : property '{name}' is unsupported)"
        text = f"'messages.{at}' : for 'role:assistant' the following must be satisfied[{why}]"
        return Refused(text, {"error": {"message": text, "type": "invalid_request_error"}})

    def decorate(self, message: Json, reply: Reply, number: int) -> None:
        """Say what was thought."""
        message["reasoning"] = reply.thoughts


class XAI(ChatFamily):
    """Grok: its errors are texts, and no message may be empty."""

    name = "xai"
    model = "grok-4.3"
    source = "https://docs.x.ai/docs/guides/reasoning"
    lenient = True

    def check_parameters(self, request: Json) -> None:
        """Refuse what models that think do not take."""
        super().check_parameters(request)
        for name in request.keys() & {"stop", "presence_penalty", "frequency_penalty"}:
            raise self._refusal(f"Argument not supported on this model: {name}")

    def check_order(self, messages: list[Json]) -> None:
        """Refuse a message without anything in it."""
        if any(not message.get("content") and not message.get("tool_calls") for message in messages):
            raise self._refusal(
                "Invalid request content: Each message must have at least one content element."
            )

    def decorate(self, message: Json, reply: Reply, number: int) -> None:
        """Say what was thought."""
        message["reasoning_content"] = reply.thoughts

    def _refusal(self, text: str) -> Refused:
        return Refused(text, {"code": "Client specified an invalid argument", "error": text})


CHAT = (OpenAI, Azure, DeepSeek, Gemini, OpenRouter, Vllm, Mistral, Ollama, Groq, XAI)
