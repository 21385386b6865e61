"""Read mail, calendar and tickets, plan a change, let a person approve it, and make it.

python office.py            # in this folder; asks at the terminal
python office.py --yes      # approves by itself: for a first look only
"""

from __future__ import annotations

import mailbox
import shutil
import sys
import uuid
from pathlib import Path

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from planwright.graph import open_agent

QUESTIONS = ("What is in my calendar tomorrow?", "What tickets are open?")
JOB = (
    "Search my emails for the invoice from Acme, then create a ticket with the amount"
    " and save a summary to summary.md"
)


def main() -> None:
    """Ask two questions that change nothing, then do a job that has to be approved."""
    workspace = Path("workspace")
    if not workspace.exists():
        _fill(workspace)
    with open_agent(workspace) as agent:
        for question in QUESTIONS:
            out = agent.invoke({"messages": [("user", question)]}, _new_thread())
            print(f"> {question}\n{out['answer']}\n")

        thread = _new_thread()
        print(f"> {JOB}")
        out = agent.invoke({"messages": [("user", JOB)]}, thread)
        while waiting := out.get("__interrupt__"):
            print(waiting[0].value["action_requests"][0]["description"])
            out = agent.invoke(Command(resume={"decisions": [_decide()]}), thread)
        print(f"{out['status']}: {out['answer']}")


def _fill(workspace: Path) -> None:
    """Make a workspace: a maildir with the messages, and a folder with the calendar."""
    shutil.copytree("calendar", workspace / "calendar")
    inbox = mailbox.Maildir(workspace / "mail")
    for path in sorted(Path("messages").glob("*.eml")):
        inbox.add(path.read_bytes())


def _new_thread() -> RunnableConfig:
    """Name a conversation of its own."""
    return {"configurable": {"thread_id": str(uuid.uuid4())}}


def _decide() -> dict[str, str]:
    """Ask the person at the terminal."""
    if "--yes" in sys.argv[1:] or input("approve? [y/N] ").lower() == "y":
        return {"type": "approve"}
    return {"type": "reject", "message": "not approved at the terminal"}


if __name__ == "__main__":
    main()
