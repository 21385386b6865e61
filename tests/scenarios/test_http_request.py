"""Whole runs with http.request: who is asked, and what is never gone around."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from planwright.domain.hashing import whole_json
from planwright.domain.results import StepResult
from planwright.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

pytestmark = pytest.mark.enable_socket
METADATA = "http://169.254.169.254/latest/meta-data/"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.asked.append(f"{self.command} {self.path}")  # type: ignore[attr-defined]
        moved = self.path == "/moved"
        self.send_response(302 if moved else 200)
        if moved:
            self.send_header("Location", METADATA)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b'{"status": "all well"}')

    do_POST = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Keep stderr clean."""


class Service(ThreadingHTTPServer):
    """A service on the loopback that keeps what it is asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[str] = []
        self.place = f"127.0.0.1:{self.server_address[1]}"


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as opened:
        threading.Thread(target=opened.serve_forever, args=(0.02,), daemon=True).start()
        yield opened
        opened.shutdown()


def play(scene: Scene, service: Service, *alternatives: str, **params: Any) -> dict[str, Any]:
    """Run a plan of one request, and of one step that reads what came of it."""
    plan = scene.plan(
        scene.step("s1", "http.request", params=params, estimated_risk="None", description="Ask for it"),
        scene.step("next", "work.read", params={"name": "{{steps.s1.output.data.status}}"}),
    )
    model = ScriptedModel(replies=[plan, "the answer"], alternatives=list(alternatives))
    planning = {"mode": "always", "replan_budget": 0}
    return scene.ask(scene.agent(model=model, egress={"allow": [service.place]}, planning=planning))


def test_reading_from_a_listed_host_asks_nobody(scene: Scene, service: Service) -> None:
    output = play(scene, service, url=f"http://{service.place}/status")
    assert output["status"] == "completed"
    assert service.asked == ["GET /status"]
    assert scene.done == ["all well"]
    assert scene.rows("SELECT * FROM gates") == []
    assert scene.rows("SELECT * FROM effects") == []


def test_changing_something_there_is_asked_for_and_goes_through_the_ledger(
    scene: Scene, service: Service
) -> None:
    output = play(scene, service, url=f"http://{service.place}/order", method="POST", data={"count": 1})
    (step, _) = output["__interrupt__"][0].value["shown"]["steps"]
    assert (step["risk"], step["effect"]) == ("High", "blind")
    assert service.asked == []
    assert scene.decide(scene.agents[0], "approve")["status"] == "completed"
    assert service.asked == ["POST /order"]
    assert scene.rows("SELECT capability, effect, status FROM effects") == [
        {"capability": "http.request", "effect": "blind", "status": "done"}
    ]


def test_an_agent_that_reads_asks_nobody_and_one_that_posts_does(scene: Scene, service: Service) -> None:
    url = f"http://{service.place}/status"
    reads = scene.calls(("http__request", {"url": url}))
    posts = scene.calls(("http__request", {"url": url, "method": "POST"}))
    agent = scene.agent(reads, posts, "done", egress={"allow": [service.place]}, planning={"mode": "never"})
    output = scene.ask(agent, "Fetch the http status")
    (asked,) = output["__interrupt__"]
    assert service.asked == ["GET /status"]
    assert asked.value["shown"]["risk"] == "High"
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert service.asked == ["GET /status", "POST /status"]


def test_a_host_that_is_not_listed_is_asked_for(scene: Scene, service: Service) -> None:
    output = play(scene, service, url="https://unlisted.example/")
    (step, _) = output["__interrupt__"][0].value["shown"]["steps"]
    assert step["own_gate"]
    assert "__interrupt__" in scene.decide(scene.agents[0], "approve")
    (gate,) = scene.rows("SELECT shown FROM gates WHERE kind = 'step'")
    assert json.loads(gate["shown"])["reason"] == "unlisted.example:443 is not in egress.allow"
    assert service.asked == []


@pytest.mark.parametrize(
    "url", [METADATA, "http://2130706433/", "http://localhost:8000/", "http://u@a.example/"]
)
def test_a_plan_that_leads_inside_is_refused_before_anything_runs(
    scene: Scene, service: Service, url: str
) -> None:
    output = play(scene, service, url=url)
    assert output["status"] == "refused"
    assert scene.rows("SELECT * FROM gates") == []
    assert service.asked == []


def test_a_redirect_to_a_metadata_service_fails_for_good(scene: Scene, service: Service) -> None:
    other = json.dumps({"capability": "work.read", "params": {"name": "other"}})
    output = play(scene, service, other, url=f"http://{service.place}/moved")
    assert output["status"] != "completed"
    assert service.asked == ["GET /moved"]
    (row,) = scene.rows("SELECT result FROM steps WHERE step_id = 's1'")
    result = whole_json(StepResult, row["result"])
    assert (result["status"], result["code"], result["attempts"]) == ("failed", "forbidden", 1)
    assert "169.254.169.254" in str(result["error"])
    assert scene.done == []


def test_a_person_cannot_approve_what_leads_inside(scene: Scene, service: Service) -> None:
    """The place is known only when its step is to run; its gate never opens."""
    step = scene.step("s1", "http.request", params={"url": "{{input.request}}"})
    agent = scene.agent(
        scene.plan(step), "the answer", egress={"allow": [service.place]}, planning={"replan_budget": 0}
    )
    scene.ask(agent, METADATA)
    output = scene.decide(agent, "approve")
    assert output["status"] == "failed"
    assert scene.rows("SELECT kind FROM gates") == [{"kind": "plan"}]
    (row,) = scene.rows("SELECT result FROM steps WHERE step_id = 's1'")
    assert json.loads(row["result"])["code"] == "forbidden"


@pytest.mark.parametrize("estimate", ["None", "High"])
def test_a_planned_read_of_a_listed_host_asks_nobody(scene: Scene, service: Service, estimate: str) -> None:
    step = scene.step("s1", "http.request", params={"url": f"http://{service.place}/status"})
    agent = scene.agent(
        scene.plan(step | {"estimated_risk": estimate}), "all well", egress={"allow": [service.place]}
    )
    assert scene.ask(agent, "Look at the status")["status"] == "completed"
    assert service.asked == ["GET /status"]
    assert scene.rows("SELECT * FROM gates") == []


@pytest.mark.parametrize("change", [{"estimated_risk": "Medium"}, {"params": {"method": "POST"}}])
def test_a_graver_estimate_of_its_own_and_another_method_ask(
    scene: Scene, service: Service, change: dict[str, Any]
) -> None:
    params = {"url": f"http://{service.place}/status", **change.pop("params", {})}
    step = scene.step("s1", "http.request", params=params) | change
    agent = scene.agent(scene.plan(step), "all well", egress={"allow": [service.place]})
    assert "__interrupt__" in scene.ask(agent, "Look at the status")
    assert service.asked == []
