"""An MCP server whose tools are those of `tools.json` in the folder it is started in.

Each call of a tool is a line of `calls.txt`. A tool named `become` puts `next.json` in the place of these
tools, and says so. `--old` speaks the protocol of 2025, in which a client is told unasked, and loads no SDK,
which takes two seconds.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


def called(name: str) -> bool:
    """Note a call, and say whether the tools are others now."""
    with Path("calls.txt").open("a", encoding="utf-8") as calls:
        print(name, file=calls)
    if name == "become":
        os.replace("next.json", "tools.json")
    return name == "become"


def tools() -> list[dict[str, Any]]:
    """Read the tools by their fields on the wire."""
    listed: list[dict[str, Any]] = json.loads(Path("tools.json").read_text("utf-8"))
    return listed


def serve_2025() -> None:
    """Speak the protocol of 2025 until stdin ends."""
    for line in sys.stdin:
        asked = json.loads(line)
        answer: dict[str, Any] = {"error": {"code": -32601, "message": "no"}}
        if asked["method"] == "initialize":
            about = {
                "serverInfo": {"name": "old", "version": "1"},
                "capabilities": {"tools": {"listChanged": True}},
            }
            answer = {"result": {"protocolVersion": "2025-11-25", **about}}
        elif asked["method"] == "tools/list":
            answer = {"result": {"tools": tools()}}
        elif asked["method"] == "tools/call":
            name = asked["params"]["name"]
            if called(name):
                print(json.dumps(CHANGED), flush=True)
            answer = {"result": {"content": [{"type": "text", "text": name}]}}
        if "id" in asked:
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)


async def serve() -> None:
    """Speak the newest protocol until stdin ends."""
    from mcp import types
    from mcp.server.lowlevel import NotificationOptions, Server
    from mcp.server.stdio import stdio_server
    from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

    bus = InMemorySubscriptionBus()

    async def list_tools(_: object, __: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in tools()])

    async def call_tool(_: object, asked: types.CallToolRequestParams) -> types.CallToolResult:
        if called(asked.name):
            await bus.publish(ToolsListChanged())
        return types.CallToolResult(content=[types.TextContent(type="text", text=asked.name)])

    server = Server(
        "changing",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_subscriptions_listen=ListenHandler(bus),
    )
    options = server.create_initialization_options(NotificationOptions(tools_changed=True))
    async with stdio_server() as (read, write):
        await server.run(read, write, options)


if __name__ == "__main__":
    serve_2025() if sys.argv[1:] == ["--old"] else asyncio.run(serve())
