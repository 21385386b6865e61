"""One run with a gate through LangGraph's server, with its Python SDK.

python client.py        # while `langgraph dev` runs; asks at the terminal
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from langgraph_sdk import get_sync_client

GRAPH = "planwright"
REQUEST: dict[str, Any] = {"messages": [{"role": "user", "content": "Create a ticket to review the backups"}]}


def main() -> None:
    """Begin a run, answer its gate, and print how it ended."""
    url = os.environ.get("LANGGRAPH_URL", "http://127.0.0.1:2024")
    token = Path("workspace/.planwright/server.token").read_text("utf-8")
    with get_sync_client(url=url, api_key=token) as client:
        thread = client.threads.create()["thread_id"]
        for chunk in client.runs.stream(thread, GRAPH, input=REQUEST, stream_mode="custom"):
            if chunk.event == "custom":
                print("event:", chunk.data["type"])

        state: Any = client.threads.get_state(thread)
        while waiting := state["interrupts"]:
            print(waiting[0]["value"]["action_requests"][0]["description"])
            yes = input("approve? [y/N] ").lower() == "y"
            decision = {"type": "approve" if yes else "reject"}
            client.runs.wait(thread, GRAPH, command={"resume": {"decisions": [decision]}})
            state = client.threads.get_state(thread)
        print(f"{state['values']['status']}: {state['values']['answer']}")


if __name__ == "__main__":
    main()
