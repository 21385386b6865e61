"""The chunks of a streamed reply, without the secrets that may be cut in two by them."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk

from planwright.graph.redacted_stream import RedactedStream
from planwright.graph.redaction import Redactor

Slot = tuple[str, Any]
"""Where a text goes on from chunk to chunk: the words, a block of them, a call's arguments, an extra."""


class RedactedChunks:
    """Give chunks on with what is safe to show by now; the one that ends the reply with all the rest."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._streams: dict[Slot, RedactedStream] = {}

    def feed(self, chunk: ChatGenerationChunk) -> ChatGenerationChunk:
        """Take a chunk, and give it on without what may be a part of a secret."""
        said = chunk.message
        assert isinstance(said, AIMessageChunk)
        message = AIMessageChunk(
            content=self._content(said.content),
            tool_call_chunks=[
                {**call, "args": self._piece(("call", call["index"]), call["args"])}
                for call in said.tool_call_chunks
            ],
            additional_kwargs={
                name: self._extra(name, held) for name, held in said.additional_kwargs.items()
            },
            response_metadata=self._redactor.value(said.response_metadata),
            usage_metadata=said.usage_metadata,
            chunk_position=said.chunk_position,
            name=said.name,
            id=said.id,
        )
        info = self._redactor.value(chunk.generation_info)
        fed = ChatGenerationChunk(message=message, generation_info=info)
        ends = said.chunk_position == "last" or (info or {}).get("finish_reason")
        last = self.rest() if ends else None
        return fed + last if last else fed

    def rest(self) -> ChatGenerationChunk | None:
        """Give on what was held back; None when nothing was."""
        held = {slot: text for slot, stream in self._streams.items() if (text := stream.rest())}
        if not held:
            return None
        message = AIMessageChunk(
            content=held.get(("words", None), "")
            or [
                {"type": "text", "text": text, "index": at}
                for (kind, at), text in held.items()
                if kind == "block"
            ],
            tool_call_chunks=[
                {"name": None, "args": text, "id": None, "index": at, "type": "tool_call_chunk"}
                for (kind, at), text in held.items()
                if kind == "call"
            ],
            additional_kwargs={at: text for (kind, at), text in held.items() if kind == "extra"},
        )
        return ChatGenerationChunk(message=message)

    def _content(self, content: str | list[Any]) -> str | list[Any]:
        if isinstance(content, str):
            return self._piece(("words", None), content) or ""
        return [
            {**block, "text": self._piece(("block", block.get("index", at)), block["text"])}
            if isinstance(block, dict) and isinstance(block.get("text"), str)
            else self._redactor.value(block)
            for at, block in enumerate(content)
        ]

    def _extra(self, name: str, held: Any) -> Any:
        return self._piece(("extra", name), held) if isinstance(held, str) else self._redactor.value(held)

    def _piece(self, slot: Slot, piece: str | None) -> str | None:
        if not piece:
            return piece
        return self._streams.setdefault(slot, RedactedStream(self._redactor)).feed(piece)
