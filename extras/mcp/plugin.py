"""What the extra `mcp` brings: the servers of `.mcp.json`, as a `ToolServerPlugin`."""

from __future__ import annotations

from planwright.extras.mcp.servers import open_servers, start_servers
from planwright.extras.mcp.standing import unstarted_servers, untrusted_servers

__all__ = ["open_servers", "start_servers", "unstarted_servers", "untrusted_servers"]
