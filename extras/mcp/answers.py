"""What an answer of an MCP server may hold, and what stands in for one that holds more.

The stand-in is a JSON-RPC error for the same request, so that other calls to the server go on.
"""

from __future__ import annotations

import json
import re
from typing import Any

from mcp.types import PARSE_ERROR, ErrorData, JSONRPCError
from mcp_types.methods import parse_server_result

TOO_DEEP = "an answer that is nested too deeply is not read"
COMPRESSED = "a compressed answer is not read"
_LONGEST = 200  # of an error's text
_INVALID = re.compile(r"Invalid JSON: (.*?)(?: \[type=|$)", re.MULTILINE)  # as pydantic 2.13 puts it
_DEEPER = "recursion limit exceeded"  # from 200 levels on (jiter, which pydantic reads with)


def refusal_text(excess: str) -> str:
    """Say that an answer was too much to be read."""
    return f"an answer of {excess} is not read"


def error_reply(request_id: int | str | None, why: str, code: int = PARSE_ERROR) -> JSONRPCError:
    """Answer a request in place of the server, by default as one whose answer cannot be read."""
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=why))


def as_answer(result: dict[str, Any], version: str) -> dict[str, Any]:
    """Spell what a tool answered so that it can be read: what the protocol does not know becomes a text.

    The call was made, whatever its answer looks like.
    """
    try:
        parse_server_result("tools/call", version, result)
    except (ValueError, KeyError):
        text = json.dumps(result, ensure_ascii=False)
        return {"content": [{"type": "text", "text": text}], "isError": result.get("isError") is True}
    return result


def parse_problem(message: str) -> str:
    """Say what is wrong with an answer, from the message of its parse error."""
    if _DEEPER in message:
        return TOO_DEEP
    invalid = _INVALID.search(message)
    return f"it is no JSON: {invalid[1]}"[:_LONGEST] if invalid else " ".join(message.split())[:_LONGEST]
