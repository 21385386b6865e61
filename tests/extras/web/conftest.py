"""A page over the agent of a fresh workspace, and browsers that have signed in to it, without a network."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.language_models import BaseChatModel
from starlette.applications import Starlette

from planwright.domain.lease import Lease
from planwright.domain.memory_proposal import Candidate
from planwright.extras.web.application import build_application
from planwright.extras.web.parts import WebParts
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.records.memories import Memory
from planwright.security.credentials import read_credentials
from planwright.security.tickets import own_host
from planwright.settings.settings import load
from tests.patience import PATIENCE_S

START = "s" * 43
ADDRESS = "http://127.0.0.1:2025"
HOST = f"{own_host(START)}:2025"
BASE = f"http://{HOST}"
TOKENS = {"ada": "a" * 43, "ben": "b" * 43, "eve": "e" * 43}
RIGHT_TOKENS = {right: (right * 5)[:43] for right in ("request", "approve", "operate", "audit")}
WRITE = {"id": "s1", "capability": "tickets.create", "params": {"title": "Cables", "body": "Three"}}


@dataclass
class Browser:
    """A browser that has signed in: it sends its cookie, and the token of the visit with each form."""

    client: httpx.AsyncClient
    csrf: str

    async def get(self, path: str) -> httpx.Response:
        """Open a page."""
        return await self.client.get(path)

    async def post(self, path: str, **fields: Any) -> httpx.Response:
        """Send a form, as a page of ours would."""
        form = {"csrf": self.csrf, **fields}
        return await self.client.post(path, data=form, headers={"Origin": BASE})


@dataclass
class Stage:
    """The page of a workspace, its agent, and ways to look at both."""

    app: Starlette
    agent: Agent
    folder: Path

    @property
    def parts(self) -> WebParts:
        """What the routes share."""
        parts: WebParts = self.app.state.parts
        return parts

    def client(self, base: str = ADDRESS) -> httpx.AsyncClient:
        """Make a browser that has not signed in; it comes by the name of the page, unless by another base."""
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        named = {"Host": HOST} if base == ADDRESS else {}
        return httpx.AsyncClient(transport=transport, base_url=base, headers=named)

    async def sign_in(self, token: str = START) -> Browser:
        """Make a browser that has signed in with a token."""
        client = self.client()
        answer = await client.post("/sign-in", data={"token": token}, headers={"Origin": BASE})
        assert answer.status_code == 303
        page = await client.get("/approvals")
        csrf = re.search(r'name="csrf" content="([^"]+)"', page.text)
        assert csrf is not None
        return Browser(client, csrf[1])

    async def waiting_gate(self, browser: Browser, request: str = "Do it") -> tuple[str, str]:
        """Ask for something over the page, and wait for its gate; return the ids of run and gate."""
        answer = await browser.post("/new", request=request)
        assert answer.status_code == 303, answer.text
        run_id = answer.headers["location"].rsplit("/", 1)[1]
        return run_id, await self.open_gate(run_id)

    async def open_gate(self, run_id: str) -> str:
        """Wait until a run waits at a gate, and return its id."""

        async def look() -> str:
            run = await self.agent.stores.runs.read(run_id)
            gates = await self.agent.stores.gates.of_thread(run.thread_id) if run else []
            return gates[0].gate_id if run and run.status == "waiting" and gates else ""

        return await until(look)

    async def answer(self, browser: Browser, gate_id: str, type_: str, **fields: Any) -> httpx.Response:
        """Answer a gate as its page would: with the hash of what it shows."""
        gate = await self.agent.stores.gates.read(gate_id)
        return await browser.post(f"/approvals/{gate_id}", type=type_, plan_hash=gate.answer_hash, **fields)

    async def remembered(self, run_id: str, text: str = "The secret cables are blue") -> dict[str, str]:
        """Let the tenant of a run have a memory and a proposal; return their ids, as paths name them."""
        stores, query = self.agent.stores, "SELECT tenant, thread_id, lease_token FROM runs WHERE run_id = ?"
        row = await stores.database.read(lambda c: c.execute(query, (run_id,)).fetchone())
        memory = Memory.new("mem_1", text, ["cables"], self.agent.door.clock())
        await stores.memories.write(memory, row["tenant"], run_id)
        lease = Lease(row["tenant"], row["thread_id"], run_id, row["lease_token"])
        candidate = Candidate(said=f"I said {text}", text=f"Proposed: {text}", why=text)
        id_ = await stores.proposals.add(lease, candidate, self.agent.door.clock())
        return {"memory_id": "mem_1", "proposal_id": id_}

    async def ended(self, run_id: str) -> str:
        """Wait until a run has ended, and return its status."""

        async def look() -> str:
            run = await self.agent.stores.runs.read(run_id)
            return run.status if run and run.ended else ""

        return await until(look)


async def until(look: Callable[[], Any]) -> str:
    """Look until there is something, and return it."""
    async with asyncio.timeout(PATIENCE_S):
        while not (value := await look()):  # noqa: ASYNC110 - only the records say it
            await asyncio.sleep(0)
    return str(value)


MakeStage = Callable[..., Stage]


@pytest.fixture
async def make_stage(tmp_path: Path) -> AsyncIterator[MakeStage]:
    """Build the page of a workspace whose model plans the steps that are given, again and again."""
    opened: list[Stage] = []

    def make(
        steps: list[dict[str, Any]] | None = None,
        policy: str = "",
        rounds: int = 4,
        more: dict[str, Any] | None = None,
        model: BaseChatModel | None = None,
        **options: Any,
    ) -> Stage:
        tokens: dict[str, dict[str, Any]] = {
            name: {
                "sha256": hashlib.sha256(token.encode()).hexdigest(),
                "tenant": "other" if name == "eve" else "default",
            }
            for name, token in TOKENS.items()
        }
        for right, token in RIGHT_TOKENS.items():
            tokens[right] = {"sha256": hashlib.sha256(token.encode()).hexdigest(), "rights": [right]}
        if policy:
            (tmp_path / "policy.toml").write_text(policy, "utf-8")
        tables = dict(more or {})
        server = {"tokens": tokens, **tables.pop("server", {})}
        planning = {"mode": "always", "replan_budget": 0}
        settings = load(tmp_path, planning=planning, server=server, **tables)
        plan = json.dumps({"goal": "the goal", "steps": steps or [WRITE]})
        scripted = model or ScriptedModel(replies=[plan, "the answer"] * rounds)
        agent = build_graph(settings, **options, model=scripted)
        app = build_application(settings, agent, read_credentials(settings, START))
        opened.append(Stage(app, agent, tmp_path))
        return opened[-1]

    yield make
    for stage in opened:
        await stage.parts.here.close()
        await stage.agent.aclose()
