"""A model that streams its replies over real HTTP, each after 0.2 to 1 s, in a process of its own.

`python -m benchmarks.crowd_server SCRIPT` prints its port; the script is JSON as `model_server.py` reads it.
A GET tells how many requests there were, and how many of them at once at the most.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
from typing import Any

from benchmarks.model_server import completion, reply_to

FASTEST_S, SLOWEST_S = 0.2, 1.0
BACKLOG = 4096
HEAD = "HTTP/1.1 200 OK\r\nContent-Type: {}\r\n"


class CrowdServer:
    """Answers every request by a script, as many at once as come."""

    def __init__(self, script: dict[str, Any]) -> None:
        self._script = script
        self._chance = random.Random(1)
        self.requests = self.at_once = self.most_at_once = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
                body = await reader.readexactly(int(found[1])) if found else b""
                await self._reply(json.loads(body) if body else None, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has left
        finally:
            writer.close()

    async def _reply(self, asked: dict[str, Any] | None, writer: asyncio.StreamWriter) -> None:
        if asked is None:
            text = json.dumps({"requests": self.requests, "most_at_once": self.most_at_once})
            writer.write(
                f"{HEAD.format('application/json')}Content-Length: {len(text)}\r\n\r\n{text}".encode()
            )
            await writer.drain()
            return
        self.requests, self.at_once = self.requests + 1, self.at_once + 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(self._chance.uniform(FASTEST_S, SLOWEST_S))
            whole = completion(reply_to(asked["messages"], self._script))
            streams = asked.get("stream")
            text = "".join(_events(whole)) if streams else json.dumps(whole)
            head = HEAD.format("text/event-stream" if streams else "application/json")
            writer.write(f"{head}Content-Length: {len(text)}\r\n\r\n{text}".encode())
            await writer.drain()
        finally:
            self.at_once -= 1


def _events(body: dict[str, Any]) -> list[str]:
    """Spell a completion as a stream: a word a chunk, then the calls, the end and the usage."""
    (choice,), usage = body["choices"], body["usage"]
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "usage": None}
    message = choice["message"]
    words = re.findall(r"\S+\s*", message["content"] or "")
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": word} for word in words]
    calls = [{**call, "index": n} for n, call in enumerate(message.get("tool_calls", ()))]
    deltas += [{"role": "assistant", "tool_calls": calls}] if calls else []
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    chunks.append({**head, "choices": [], "usage": usage})
    return [*(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks), "data: [DONE]\n\n"]


async def serve(script: dict[str, Any]) -> None:
    """Serve until the process is killed."""
    server = await asyncio.start_server(CrowdServer(script).answer, "127.0.0.1", 0, backlog=BACKLOG)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(json.loads(sys.argv[1])))
