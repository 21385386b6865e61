"""Capabilities of MCP servers: what `.mcp.json` lists, once a person trusts it."""
