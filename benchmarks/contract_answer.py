"""Approve what a thread waits for, in a process of its own.

`python -m benchmarks.contract_answer FOLDER THREAD`
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from langgraph.types import Command

from planwright.graph.building import build_graph
from planwright.settings.settings import load

SECTIONS = "contract.json"
"""Name of the file with the settings that are in force."""


def main() -> None:
    """Answer with yes, and print how the run ended."""
    folder, thread = Path(sys.argv[1]), sys.argv[2]
    config: Any = {"configurable": {"thread_id": thread}}
    sections = json.loads((folder / SECTIONS).read_text("utf-8"))
    with build_graph(load(folder, **sections)) as agent:
        out = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
    print(json.dumps({"status": out["status"], "answer": out["answer"]}))


if __name__ == "__main__":
    main()
