"""Runs without a thread keep the one that LangGraph's server makes for them: a gate may stand open on it.

By default that server deletes it once the run has stopped, also at an interrupt, and answers 404 then.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

STATELESS = frozenset(("/runs", "/runs/wait", "/runs/stream", "/runs/batch"))
COMPLETION = "on_completion"


class KeepingThreads:
    """Ask for the thread of such a run to be kept, unless the client says what is to become of it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection of ASGI."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] not in STATELESS:
            await self._app(scope, receive, send)
            return
        pieces, more = list[bytes](), True
        while more:
            message = await receive()
            pieces.append(message.get("body", b""))
            more = message["type"] == "http.request" and message.get("more_body", False)
        body = keeping(b"".join(pieces))
        scope = {**scope, "headers": [*scope["headers"]]}
        headers = MutableHeaders(scope=scope)
        del headers["transfer-encoding"]
        headers["content-length"] = str(len(body))
        whole: Sequence[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        left = iter(whole)

        async def again() -> Message:
            return next(left, None) or await receive()

        await self._app(scope, again, send)


def keeping(body: bytes) -> bytes:
    """Add to a request, or to each of a batch, that its thread stays; what is no request goes on as it is."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):  # it is no JSON, or nested too deeply: the server says so
        return body
    if isinstance(content, dict):
        return json.dumps(_keeping(content)).encode()
    if isinstance(content, list) and all(isinstance(each, dict) for each in content):
        return json.dumps([_keeping(each) for each in content]).encode()
    return body


def _keeping(request: Mapping[str, object]) -> Mapping[str, object]:
    return {**request, COMPLETION: request.get(COMPLETION) or "keep"}
