"""The doors that a bomb comes in by: a whole run by its plan or calls, a policy decision, one call."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import uuid
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command
from pydantic import JsonValue

from benchmarks.trusted_servers import trust_servers
from planwright.capabilities.arguments import check_arguments
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.gateway.invoke import invoke
from planwright.capabilities.policy import decide as policy
from planwright.capabilities.policy.file import read_policy
from planwright.domain.errors import PlanwrightError
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.records.stores import open_stores
from planwright.security.jail import Jail
from planwright.settings.settings import load

Step = tuple[str, dict[str, Any]]


def run(
    folder: Path,
    *,
    turns: Sequence[str | dict[str, Any]] = (),
    plan: str = "",
    request: str = "Do it",
    files: Mapping[str, str | bytes] | None = None,
    model: BaseChatModel | None = None,
    **flags: Any,
) -> str:
    """Run an agent in a folder until it ends, approving all, and say how it ended."""
    put(folder, files or {})
    script = model or (
        None
        if "providers" in flags
        else ScriptedModel(replies=[*([plan] if plan else []), *turns, "the end"])
    )
    planning = {"mode": "always" if plan else "never", "replan_budget": 0}
    flags = {"planning": planning, "planner": {"repairs": 0}, **flags}
    config: RunnableConfig = {"configurable": {"thread_id": str(uuid.uuid4())}}
    with closing(build_graph(load(folder, **flags), model=script)) as agent:
        out = agent.invoke({"messages": [("user", request)]}, config)
        for _ in range(8):
            if not (gates := agent.get_state(config).interrupts):
                break
            out = agent.invoke(Command(resume={a.value["gate_id"]: "approve" for a in gates}), config)
    asked = script.prompts[-1] if isinstance(script, ScriptedModel) else []
    heard = [message.text for message in asked if message.type == "tool"]
    ends = [f"{r.error}" for r in out.get("results", {}).values() if r.error]
    verdict = out.get("verdict")
    said = [*ends, *heard, *([verdict.reason] if verdict else []), str(out.get("answer"))]
    return f"{out.get('status')}: {' | '.join(text[:400] for text in said)}"


def planned(folder: Path, *steps: Step, criterion: str = "", **more: Any) -> str:
    """Run a plan of steps one after the other; the last may have a criterion in CEL."""
    return run(folder, plan=plan_of(*steps, criterion=criterion), **more)


def plan_of(*steps: Step, criterion: str = "") -> str:
    """Write a plan as a model does: each step waits for the one before it."""
    listed: list[dict[str, Any]] = [
        {"id": f"s{n}", "capability": name, "params": params, "depends_on": [f"s{n - 1}"] if n > 1 else []}
        for n, (name, params) in enumerate(steps, 1)
    ]
    if criterion:
        listed[-1]["success_criteria"] = {"cel": criterion}
    return json.dumps({"goal": "Do it", "steps": listed})


def decided(
    when: str, found: Capability, args: dict[str, JsonValue], folder: Path, answer: str = "deny"
) -> str:
    """Ask a policy of one rule about a call."""
    text = f"[[rule]]\nwhen = {json.dumps(when)}\ndecide = {answer!r}\n[[rule]]\ndecide = 'ask'\n"
    ruling = policy.decide(found, args, world(folder, policy=read_policy(text, folder / "policy.toml")))
    return f"{ruling.answer}: {ruling.reason}"


def called(found: Capability, args: dict[str, Any], folder: Path) -> str:
    """Make one call as the gateway does, behind its checks."""
    context = world(folder).for_call("acme", "run_1", "k" * 64)
    try:
        whole = check_arguments(found, args)
        found.check(whole, context)
        return spelled(asyncio.run(invoke(found, whole, context, found.timeout_s or 60)))
    except (PlanwrightError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def world(folder: Path, **more: Any) -> CallContext:
    """Open the world of a call in a folder."""
    settings = load(folder)
    return CallContext(settings, Jail(settings.workspace), open_stores(folder / "store").memories, **more)


def put(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files of a workspace."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def mailbox(folder: Path, *mails: bytes) -> None:
    """Write a maildir."""
    for part in ("cur", "new", "tmp"):
        (folder / "mail" / part).mkdir(parents=True)
    put(folder, {f"mail/cur/{n}.mail:2,S": mail for n, mail in enumerate(mails)})


def database(folder: Path) -> None:
    """Write a small database."""
    with closing(sqlite3.connect(folder / "crm.db")) as made, made:
        made.execute("CREATE TABLE people (name TEXT, note TEXT)")
        made.executemany("INSERT INTO people VALUES (?, ?)", [(f"p{n}", "x" * 100) for n in range(500)])


def provider(port: int, kind: str, *, stream: bool = False) -> dict[str, Any]:
    """Name a provider whose model replies with a bomb (`benchmarks.bomb_server`)."""
    able = ["function_calling", *(["streaming"] if stream else [])]
    url = f"http://127.0.0.1:{port}/v1"
    return {"providers": {"p": {"base_url": url, "model": kind, "capabilities": able, "api_key_env": None}}}


def mcp_server(folder: Path, answer: str, url: str = "") -> None:
    """Configure an MCP server whose tool answers with a bomb: a process, or what is behind a URL."""
    script = Path(__file__).with_name("bomb_server.py")
    entry = {"url": url} if url else {"command": sys.executable, "args": [str(script), "--mcp", answer]}
    patience = "[mcp.bomb]\ncall_timeout_s = 3\n"
    put(folder, {".mcp.json": json.dumps({"mcpServers": {"bomb": entry}}), "planwright.toml": patience})
    trust_servers(folder)


def spelled(value: object) -> str:
    """Spell a result, not all of it."""
    return str(value)[:200]
