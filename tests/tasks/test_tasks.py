"""Twelve tasks of a first hour, at a pseudo-terminal: with a model, and in the same words without one.

The twelfth and some before it need no request in words; they are the same for both.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cli.desk import Desk, wait_until
from tests.cli.typist import Typist
from tests.tasks.table import TASKS, Plan, Task, step, titles, write_tickets
from tests.wire.scripted_server import ScriptedServer, says

pytestmark = [pytest.mark.enable_socket, pytest.mark.long]
PROMPT = "or n and why: "
SLOW = """
import asyncio
from pathlib import Path
from planwright.capabilities.declaration import capability


@capability("stock.count", mode="local_write", effect="idempotent", tags=("stock", "count"))
async def count() -> str:
    "Count the stock."
    here = Path(__file__).parent
    with (here / "calls").open("a") as file:
        file.write("x")
    while not (here / "go").exists():
        await asyncio.sleep(0.02)
    return "412 boxes"
"""
OWN = """
from planwright.capabilities.declaration import capability


@capability("shipping.price", mode="read_only", tags=("shipping", "price"))
def price(weight: float) -> str:
    "Tell the price of shipping a parcel by its weight."
    return f"EUR {2 + weight * 1.5:.2f}"
"""


class _Prices(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Serve the prices."""
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(b"beans 9.50\nmilk 1.20\n")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[str]:
    """A service on the loopback; returns its host and port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Prices) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture
def desk(tmp_path: Path, service: str) -> Desk:
    """An empty folder whose settings list the service and one module."""
    settings = (
        f'[egress]\nallow = ["{service}"]\n[capabilities]\nmodules = ["own"]\n[planning]\nmode = "always"\n'
    )
    (tmp_path / "planwright.toml").write_text(settings)
    (tmp_path / "own.py").write_text(SLOW)
    return Desk(tmp_path)


@contextmanager
def thinking(planner: str, plan: Plan, answer: str = "It is done.") -> Iterator[dict[str, str]]:
    """Serve a model that makes this plan, or none. Returns what the shell has to know of it."""
    with ExitStack() as stack:
        if planner == "embedded":
            yield {}
            return
        text = json.dumps({"goal": "Do it", "steps": [*plan, {"id": "end", "capability": "respond"}]})
        server = stack.enter_context(ScriptedServer([says(text), says(answer)]))
        yield {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.base_url, "OPENAI_MODEL": "scripted"}


both = pytest.mark.parametrize("planner", ["model", "embedded"])


@both
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_what_is_asked_for_is_done(desk: Desk, service: str, task: Task, planner: str) -> None:
    task.fill(desk.folder)
    url = f"http://{service}"
    plan = json.loads(json.dumps(task.plan).replace("{service}", url))
    with thinking(planner, plan, "; ".join(task.shown)) as env:
        request = task.request.replace("{service}", url)
        with Typist(desk.folder, "run", request, env=env, size=(100, 40)) as typist:
            if task.asks:
                typist.read_until(PROMPT)
                assert not task.done(desk.folder)
                typist.type("u\n" if "[u]" in typist.screen else "y\n")
            code, _ = typist.finish()
    assert code == 0, typist.screen
    assert "Traceback" not in typist.screen
    assert all(text in typist.screen for text in task.shown), typist.screen
    assert task.done(desk.folder)


COUNT = (step("s1", "stock.count"),)


@both
@pytest.mark.parametrize("ended", ["interrupt", "kill"])
def test_a_run_that_was_ended_goes_on_and_does_nothing_twice(desk: Desk, planner: str, ended: str) -> None:
    calls = desk.folder / "calls"
    with thinking(planner, COUNT) as env:
        with Typist(desk.folder, "run", "count the stock", env=env) as typist:
            assert wait_until(calls.exists)
            getattr(typist, ended)()
            typist.finish()
        (desk.folder / "go").touch()
        with Typist(desk.folder, "resume", "last", env=env) as typist:
            code, _ = typist.finish()
    assert code == 0, typist.screen
    assert "412 boxes" in typist.screen or planner == "model"
    assert len(calls.read_text()) == 2  # begun again under the same key: it is idempotent
    assert len(desk.rows("SELECT * FROM effects")) == 1


@both
def test_two_terminals_at_one_gate_open_it_once(desk: Desk, planner: str) -> None:
    write_tickets(desk.folder)
    plan = (step("s1", "tickets.create", title="Dripping tap"),)
    with thinking(planner, plan) as env:
        assert desk.run("run", 'open a ticket titled "Dripping tap"', env=env).code == 3
        with ExitStack() as stack:
            typists = [stack.enter_context(Typist(desk.folder, "approve", "last", env=env)) for _ in range(2)]
            codes = sorted(typist.finish()[0] for typist in typists)
    assert codes[0] == 0, [typist.screen for typist in typists]
    assert not any("Traceback" in typist.screen for typist in typists)
    assert titles(desk.folder).count("Dripping tap") == 1


@both
def test_a_cron_job_says_in_json_and_by_its_code_how_it_went(desk: Desk, planner: str) -> None:
    write_tickets(desk.folder)
    with thinking(planner, (step("s1", "tickets.list", status="open"),)) as env:
        ended = desk.run("run", "--json", "list the open tickets", env=env)
    assert ended.code == 0
    assert ended.json["status"] == "completed"
    with thinking(planner, (step("s1", "tickets.create", title="Dripping tap"),)) as env:
        waiting = desk.run("run", "--json", 'open a ticket titled "Dripping tap"', env=env)
        assert waiting.code == 3
        gate = waiting.json["gates"][0]["gate_id"]
        approved = desk.run("approve", gate, "--json", env=env)
    assert (approved.code, approved.json["status"]) == (0, "completed")
    assert titles(desk.folder).count("Dripping tap") == 1


@both
def test_a_capability_of_ones_own_is_ten_lines(desk: Desk, planner: str) -> None:
    assert len(OWN.strip().splitlines()) <= 10
    (desk.folder / "own.py").write_text(OWN)
    with thinking(planner, (step("s1", "shipping.price", weight=4.0),), "It is EUR 8.00.") as env:
        request = "what is the price of shipping with weight 4?"
        with Typist(desk.folder, "run", request, env=env) as typist:
            code, _ = typist.finish()
        called = desk.run("call", "shipping.price", "--weight=4")
    assert code == 0, typist.screen
    assert "EUR 8.00" in typist.screen
    assert (called.code, "EUR 8.00" in called.stdout) == (0, True)
