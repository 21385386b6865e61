"""Trust on first use: a file of the project starts no process until a person said so, once.

Trust is bound to what the server's entry says, to the folder of the workspace, and to what the files in it
hold that the command names. The tools that a person has looked at are kept with it: no others are used. It
stands in `mcp_trust.json` among our own files, made to be read and cut.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError

from planwright.capabilities.mcp.entries import ConfiguredServer
from planwright.capabilities.mcp.tools import Tool, read_tool
from planwright.checkpoints.private_files import alone_in, replace_private

FILE_NAME = "mcp_trust.json"


class TrustRecord(BaseModel):
    """One server that is trusted: what it was when a person looked at it, and who that was."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    starts: str
    """What the server starts or connects to, as a person saw it."""
    entry_hash: str
    """Hash of entry and named files, which trust is bound to."""
    given_by: str
    """Who gave the trust."""
    given_at: str
    """When it was given, in ISO 8601."""
    tools: tuple[dict[str, JsonValue], ...] = ()
    """Its tools as they were looked at, by their fields on the wire; empty before anybody has."""


_FILE = TypeAdapter(dict[str, TrustRecord])


class Trust:
    """The servers of one workspace that a person trusts."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME

    def covers(self, server: ConfiguredServer, hashes: Mapping[str, str]) -> bool:
        """Say whether a person trusts exactly this entry, and these files that its command names."""
        record = self.read().get(server.name)
        return record is not None and record.entry_hash == server.fingerprint(hashes)

    def knows(self, server: ConfiguredServer) -> bool:
        """Say whether trust was given to an entry of this name, whatever it said."""
        return server.name in self.read()

    def tools_of(self, server: ConfiguredServer) -> dict[str, Tool]:
        """Read the tools of a server that a person has looked at, by their names."""
        record = self.read().get(server.name)
        return {tool.name: tool for tool in map(read_tool, record.tools)} if record else {}

    def read(self) -> dict[str, TrustRecord]:
        """Read what is trusted: nothing, where the file cannot be read."""
        try:
            return _FILE.validate_json(self.path.read_bytes())
        except (OSError, ValidationError):
            return {}

    def give(
        self,
        server: ConfiguredServer,
        hashes: Mapping[str, str],
        by: str,
        at: datetime,
        tools: Iterable[Tool] = (),
    ) -> None:
        """Write down that a person trusts an entry, the files its command names, and tools, as they stand."""
        record = TrustRecord(
            starts=server.starts(),
            entry_hash=server.fingerprint(hashes),
            given_by=by,
            given_at=at.isoformat(),
            tools=tuple(dict(tool.fields()) for tool in tools),
        )
        with alone_in(self.path.parent):
            self._write({**self.read(), server.name: record})

    def take_back(self, name: str) -> bool:
        """Trust a server no more, whatever its entry says; say whether anybody did."""
        with alone_in(self.path.parent):
            trusted = self.read()
            if trusted.pop(name, None) is None:
                return False
            self._write(trusted)
        return True

    def _write(self, trusted: dict[str, TrustRecord]) -> None:
        content = {name: record.model_dump() for name, record in trusted.items()}
        replace_private(self.path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
