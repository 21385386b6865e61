"""The chunks of a streamed reply, without the secrets that may be cut in two by them."""

from __future__ import annotations

from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk

from planwright.security.redaction.redactor import Redactor
from planwright.security.redaction.stream import RedactedStream

Slot = tuple[str, str | int | None]
"""Where a text goes on from chunk to chunk: the words, a block of them, an extra."""
Content = str | list[str | dict[str, object]]


class RedactedChunks:
    """Give chunks on with what is safe to show by now; the one that ends the reply with all the rest."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._streams: dict[Slot, RedactedStream] = {}
        self._calls: dict[int, str] = {}

    def feed(self, chunk: ChatGenerationChunk) -> ChatGenerationChunk:
        """Take a chunk, and give it on without what may be a part of a secret."""
        incoming = chunk.message
        if not isinstance(incoming, AIMessageChunk):
            raise TypeError(f"a chat model streams AIMessageChunk, not {type(incoming).__name__}")
        message = AIMessageChunk(
            content=self._content(incoming.content),
            tool_call_chunks=[
                {**call, "args": self._argument(call["index"], call["args"])}
                for call in incoming.tool_call_chunks
            ],
            additional_kwargs={
                name: self._extra(name, held) for name, held in incoming.additional_kwargs.items()
            },
            response_metadata=self._redactor.value(incoming.response_metadata),
            usage_metadata=incoming.usage_metadata,
            chunk_position=incoming.chunk_position,
            name=incoming.name,
            id=incoming.id,
        )
        info = self._redactor.value(chunk.generation_info)
        fed = ChatGenerationChunk(message=message, generation_info=info)
        ends = incoming.chunk_position == "last" or (info or {}).get("finish_reason")
        last = self.rest() if ends else None
        return fed + last if last else fed

    def rest(self) -> ChatGenerationChunk | None:
        """Give on what was held back; None when nothing was."""
        held = {slot: text for slot, stream in self._streams.items() if (text := stream.rest())}
        calls, self._calls = self._calls, {}
        if not held and not calls:
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
                for at, text in ((at, self._redactor.document(args)) for at, args in calls.items())
            ],
            additional_kwargs={at: text for (kind, at), text in held.items() if kind == "extra"},
        )
        return ChatGenerationChunk(message=message)

    def _content(self, content: Content) -> Content:
        if isinstance(content, str):
            return self._piece(("words", None), content) or ""
        return [self._block(at, block) for at, block in enumerate(content)]

    def _block(self, at: int, block: str | dict[str, object]) -> str | dict[str, object]:
        if isinstance(block, str) or not isinstance(text := block.get("text"), str):
            return self._redactor.value(block)
        index = block.get("index", at)
        slot = ("block", index if index is None or isinstance(index, str | int) else at)
        return {**block, "text": self._piece(slot, text)}

    def _argument(self, at: int | None, piece: str | None) -> str | None:
        """Keep the arguments of a call back until they are whole: they have to stay JSON."""
        if at is None or not piece:  # a call that came in one piece
            return self._redactor.document(piece) if piece else piece
        self._calls[at] = self._calls.get(at, "") + piece
        return ""

    def _extra(self, name: str, held: object) -> object:
        return self._piece(("extra", name), held) if isinstance(held, str) else self._redactor.value(held)

    def _piece(self, slot: Slot, piece: str | None) -> str | None:
        if not piece:
            return piece
        return self._streams.setdefault(slot, RedactedStream(self._redactor)).feed(piece)
