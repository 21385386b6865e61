"""What intruders send to the server: to every route, and beside the routes' own parameters."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from benchmarks.intruder_routes import Route, body_for
from benchmarks.intruder_stage import ANSWER_S, GRAPH, Stage

READ_S = 3
APPROVE = {"resume": {"decisions": [{"type": "approve"}]}}
CLOSED = frozenset((401, 403, 404))
OPEN = "/ok"  # the one path that answers everybody at the right address


@dataclass(frozen=True)
class Intruder:
    """Who comes, and with which answers they may be sent away."""

    name: str
    headers: Callable[[Stage], Mapping[str, str]]
    statuses: frozenset[int] = CLOSED
    misdirected: bool = False  # then not even the open path answers


def _with(token: str, **more: str) -> dict[str, str]:
    return {
        "authorization": f"Bearer {token}",
        **{name.replace("_", "-"): value for name, value in more.items()},
    }


INTRUDERS = (
    Intruder("no token", lambda stage: {}),
    Intruder("a wrong token", lambda stage: _with(secrets.token_urlsafe(32))),
    Intruder("a token cut short", lambda stage: _with(stage.token[:-1])),
    Intruder("Studio's scheme", lambda stage: {"x-auth-scheme": "langsmith", "x-api-key": "lsv2_x"}),
    Intruder("basic", lambda stage: {"authorization": f"Basic {stage.token}"}),
    Intruder(
        "another origin", lambda stage: _with(stage.token, origin="https://evil.example"), misdirected=True
    ),
    Intruder("no origin of its own", lambda stage: _with(stage.token, origin="null"), misdirected=True),
    Intruder(
        "another host",
        lambda stage: _with(stage.token, host=f"evil.example:{_port(stage)}"),
        misdirected=True,
    ),
    Intruder("another port", lambda stage: _with(stage.token, host="127.0.0.1:80"), misdirected=True),
    Intruder("text", lambda stage: _with(stage.token, content_type="text/plain"), frozenset((415,)), True),
    Intruder(
        "a form",
        lambda stage: _with(stage.token, content_type="application/x-www-form-urlencoded"),
        frozenset((415,)),
        True,
    ),
)


@dataclass
class Tally:
    """What came of it."""

    requests: int = 0
    statuses: dict[str, dict[int, int]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def count(self, name: str, status: int) -> None:
        """Count an answer."""
        self.requests += 1
        seen = self.statuses.setdefault(name, {})
        seen[status] = seen.get(status, 0) + 1


def intrude(stage: Stage, routes: list[Route], tally: Tally) -> None:
    """Send every intruder to every route."""
    with stage.client() as client:
        for route in routes:
            for intruder in INTRUDERS:
                if route.method == "WEBSOCKET" and 415 in intruder.statuses:
                    continue  # it has no body, and this token is a proper one
                headers = {"content-type": "application/json", **intruder.headers(stage)}
                status, text = send(client, stage, route, headers)
                tally.count(intruder.name, status)
                open_to_all = route.path == OPEN and not intruder.misdirected and route.method != "OPTIONS"
                allowed = frozenset((200,)) if open_to_all else intruder.statuses
                if status not in allowed:
                    tally.wrong.append(f"{intruder.name}: {route.method} {route.path} answered {status}")
                _read(stage, text, f"{intruder.name}: {route.method} {route.path}", tally)


def trespass(stage: Stage, routes: list[Route], tally: Tally) -> None:
    """Send somebody of another tenant to every route, and to what has no route of its own."""
    headers = {"content-type": "application/json", **_with(stage.stranger)}
    with stage.client() as client:
        for route in routes:
            status, text = send(client, stage, route, headers)
            tally.count("another tenant", status)
            where = f"another tenant: {route.method} {route.path}"
            if "{thread_id}" in route.path and status < 400 and route.method not in ("HEAD", "WEBSOCKET"):
                tally.wrong += [f"{where} answered {status}: {text[:80]}"] if _tells(route, text) else []
            _read(stage, text, where, tally)
        for name, method, path, body in thefts(stage, _own_thread(client, headers)):
            answer = client.request(method, path, json=body, headers=headers)
            tally.count("theft", answer.status_code)
            _read(stage, answer.text, name, tally)


def thefts(stage: Stage, own: str) -> list[tuple[str, str, str, Any]]:
    """List ways to another tenant's thread from a thread of one's own, or by claiming it."""
    run = {"assistant_id": GRAPH, "command": APPROVE}
    victim = {"configurable": {"thread_id": stage.thread}}
    user = {"langgraph_auth_user": {"identity": "root", "tenant": "default"}}
    listed: list[tuple[str, str, str, Any]] = []
    for thread in (stage.thread, stage.hidden):
        at = {"thread_id": thread, "checkpoint_ns": ""}
        listed += [
            ("claim", "POST", "/threads", {"thread_id": thread, "if_exists": "do_nothing"}),
            (
                "claim with metadata",
                "POST",
                "/threads",
                {"thread_id": thread, "metadata": {"tenant": "default"}},
            ),
            ("run", "POST", f"/threads/{thread}/runs/wait", {**run, "if_not_exists": "create"}),
            ("run as", "POST", f"/threads/{thread}/runs/wait", {**run, "config": {"configurable": user}}),
            ("checkpoint", "POST", f"/threads/{own}/runs/wait", {**run, "checkpoint": at}),
            ("history", "POST", f"/threads/{own}/history", {"checkpoint": at, "limit": 9}),
            ("state", "POST", f"/threads/{own}/state/checkpoint", {"checkpoint": at}),
            ("search", "POST", "/threads/search", {"ids": [thread]}),
            ("copy", "POST", f"/threads/{thread}/copy", {}),
        ]
    return [
        *listed,
        ("config", "POST", f"/threads/{own}/runs/wait", {**run, "config": victim}),
        ("tenant", "POST", f"/threads/{own}/runs/wait", {**run, "context": {"tenant": "default"}}),
        ("stateless", "POST", "/runs/wait", {**run, "config": victim}),
        ("search by metadata", "POST", "/threads/search", {"metadata": {"tenant": "default"}}),
        ("search by values", "POST", "/threads/search", {"values": {}, "limit": 1000}),
        (
            "assistant",
            "POST",
            "/assistants",
            {"graph_id": GRAPH, "config": victim, "metadata": {"tenant": "default"}},
        ),
        ("webhook", "POST", "/runs/wait", {**run, "webhook": f"{stage.url}/threads/{stage.thread}/copy"}),
    ]


def answer_in_anothers_name(stage: Stage, tally: Tally) -> None:
    """Approve with a proper token and the name of somebody else: refused, and the gate stays open."""
    for resume in (
        {"type": "approve", "decided_by": "boss"},
        {"decisions": [{"type": "approve", "decided_by": "boss"}]},
    ):
        body = {"assistant_id": GRAPH, "command": {"resume": resume}}
        with stage.client(stage.token) as client:
            answer = client.post(f"/threads/{stage.thread}/runs/wait", json=body)
        tally.count("another's name", answer.status_code)
        if "GateError" not in answer.text:
            tally.wrong.append(f"an answer in another's name: {answer.text[:200]}")


def play_the_graph_around(stage: Stage, tally: Tally) -> None:
    """Send a proper token with what LangGraph hands an agent that is a node: refused, the gate stays open."""
    answers = {stage.interrupt: {"type": "approve", "decided_by": "boss"}}
    around = {"__pregel_task_id": "x", "__pregel_resuming": True, "__pregel_resume_map": answers}
    message = {"messages": [{"role": "user", "content": "What tickets are open?"}]}
    for body in (
        {"input": None, "checkpoint": around},
        {"input": None, "config": {"configurable": around}},
        {"input": message, "checkpoint": {"__pregel_task_id": "x"}},
    ):
        with stage.client(stage.token) as client:
            path = f"/threads/{stage.thread}/runs/wait"
            answer = client.post(path, json={"assistant_id": GRAPH, **body})
        tally.count("the graph around", answer.status_code)
        if "no client may set this" not in answer.text:
            tally.wrong.append(f"a client as the graph around: {answer.text[:200]}")


def send(client: httpx.Client, stage: Stage, route: Route, headers: Mapping[str, str]) -> tuple[int, str]:
    """Send what does most harm; return the status and what was read within a while."""
    path = route.filled(stage.values)
    if route.method == "WEBSOCKET":
        return _socket(stage, path, headers)
    body = body_for(route, stage.thread, stage.assistant)
    with client.stream(route.method, path, content=body, headers=dict(headers)) as answer:
        answer.request.extensions["timeout"]["read"] = READ_S  # from here on: httpx has one limit for both
        text = ""
        try:
            for part in answer.iter_text():
                text += part
        except httpx.ReadTimeout:
            pass  # a stream that says nothing more
        return answer.status_code, text


def _socket(stage: Stage, path: str, headers: Mapping[str, str]) -> tuple[int, str]:
    """Open a WebSocket, subscribe, try to go on and to approve; return what came."""
    allowed_headers = {name: value for name, value in headers.items() if name not in ("content-type", "host")}
    reply = {"namespace": [], "interrupt_id": stage.interrupt, "response": APPROVE["resume"]}
    commands = [
        {"id": 1, "method": "subscription.subscribe", "params": {"channels": ["values", "custom"]}},
        {"id": 2, "method": "run.start", "params": {"assistant_id": GRAPH, "input": None}},
        {"id": 3, "method": "input.respond", "params": reply},
    ]
    text, host = "", headers.get("host", stage.netloc)
    url = f"ws://{host}{path}"
    try:
        with connect(
            url, additional_headers=allowed_headers, sock=_dial(stage), proxy=None, open_timeout=ANSWER_S
        ) as socket:
            for command in commands:
                socket.send(json.dumps(command))
            for _ in commands:
                text += str(socket.recv(READ_S))
    except InvalidStatus as refused:
        return refused.response.status_code, ""
    except (TimeoutError, ConnectionClosed):
        pass
    return 101, text


def _dial(stage: Stage) -> Any:
    import socket

    host, port = stage.netloc.split(":")
    return socket.create_connection((host, int(port)))


def _own_thread(client: httpx.Client, headers: Mapping[str, str]) -> str:
    created = client.post("/threads", json={}, headers=dict(headers)).raise_for_status()
    return str(created.json()["thread_id"])


def _tells(route: Route, text: str) -> bool:
    """Say whether an answer about another's thread is more than an empty list or a stream of nothing."""
    return text.strip() not in ("", "[]", "{}", "null") and not any(
        words in text for words in ("not found", "no such thread")
    )


def _read(stage: Stage, text: str, where: str, tally: Tally) -> None:
    if stage.canary in text or stage.interrupt in text:
        tally.wrong.append(f"{where} read: {text[:120]}")


def _port(stage: Stage) -> str:
    return stage.netloc.split(":")[1]
