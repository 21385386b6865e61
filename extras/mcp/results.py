"""What a tool answers, as JSON: the result its server declares, or its text and whatever else it holds."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from planwright.capabilities.schema_paths import JsonSchema

LONGEST = 1000  # of an error's text
SCHEMA: JsonSchema = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "all text of the answer"},
        "content": {"type": "array", "description": "images, sound, links and other resources, as sent"},
        "structured": {"type": "object", "description": "the answer as JSON"},
    },
    "required": ["text"],
}


def result_of(reply: Mapping[str, JsonValue], declared: bool) -> JsonValue:
    """Read a reply without an error (MCP `CallToolResult` by its field names on the wire).

    Where the tool declared a schema of its result, the structured content is the result by itself.
    Else it is `{"text": …}`, with `content` and `structured` where there is more than text.
    """
    structured: JsonValue = reply.get("structuredContent")
    if declared and structured is not None:
        return structured
    rest: list[JsonValue] = [block for block in _blocks(reply) if block.get("type") != "text"]
    more: dict[str, JsonValue] = {"content": rest} if rest else {}
    return {"text": text_of(reply), **more, **({"structured": structured} if structured is not None else {})}


def text_of(reply: Mapping[str, JsonValue]) -> str:
    """Join the texts of a reply."""
    texts = (block for block in _blocks(reply) if block.get("type") == "text")
    return "\n".join(str(block.get("text", "")) for block in texts)


def _blocks(reply: Mapping[str, JsonValue]) -> list[dict[str, JsonValue]]:
    content = reply.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def error_of(reply: Mapping[str, JsonValue]) -> str | None:
    """Say what a tool says went wrong; None when nothing did."""
    if not reply.get("isError"):
        return None
    return " ".join(text_of(reply).split())[:LONGEST] or "it gave no reason"
