"""An MCP server over stdio: a tool for each of twenty sets of annotations, written down call by call.

`python -m benchmarks.seams_server LOG FOLDER` appends each call to LOG; paths are below FOLDER.
"""

from __future__ import annotations

import hashlib
import json
import sys
from itertools import product
from pathlib import Path
from typing import Annotated

from mcp.server import MCPServer
from mcp.types import ToolAnnotations
from pydantic import Field

HINTS = tuple(product((None, True, False), repeat=4))[::4][:20]
"""Hints of each tool: readOnly, destructive, idempotent and openWorld; None for one that is absent."""
Path_ = Annotated[str, Field(json_schema_extra={"format": "path"})]


def tool_name(number: int) -> str:
    """Name a tool by its place in the list, and by its hints: `-` for absent, `t`, `f`."""
    spelled = "".join({None: "n", True: "t", False: "f"}[hint] for hint in HINTS[number])
    return f"tool_{number:02d}_{spelled}"


def serve(log: Path, folder: Path) -> None:
    """Offer the tools until the client goes."""
    server = MCPServer("seams", log_level="ERROR")

    def offer(number: int) -> None:
        name, hints = tool_name(number), HINTS[number]
        words = ("read_only_hint", "destructive_hint", "idempotent_hint", "open_world_hint")
        claims = {word: hint for word, hint in zip(words, hints, strict=True) if hint is not None}

        @server.tool(name=name, annotations=ToolAnnotations(**claims))
        def take(to: str, text: str, file: Path_ = "") -> str:
            """Take a text to somebody, with a file."""
            files = {}
            if file and (folder / file).is_file():
                files[file] = hashlib.sha256((folder / file).read_bytes()).hexdigest()
            with log.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps([name, {"to": to, "text": text, "file": file}, files]) + "\n")
            return "taken"

    for number in range(len(HINTS)):
        offer(number)
    server.run("stdio")


if __name__ == "__main__":
    serve(Path(sys.argv[1]), Path(sys.argv[2]))
