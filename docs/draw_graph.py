"""`make docs`: put the graph, as LangGraph draws it, into docs/architecture.md."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from planwright.graph.building import build_graph
from planwright.settings.settings import load

PAGE = Path(__file__).parent / "architecture.md"
_DRAWING = re.compile(r"(?<=```mermaid\n).*?(?=```)", re.DOTALL)


def drawing() -> str:
    """Draw the graph of an empty workspace."""
    with tempfile.TemporaryDirectory() as folder:
        graph = build_graph(load(folder)).get_graph(xray=True)
    for name, node in graph.nodes.items():
        graph.nodes[name] = node._replace(metadata=None)  # the names say enough in a drawing
    return graph.draw_mermaid()


if __name__ == "__main__":
    PAGE.write_text(_DRAWING.sub(lambda _: drawing(), PAGE.read_text("utf-8")), "utf-8")
