"""Every route of LangGraph's server: those of its own code, found by reading it, and those it describes."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PACKAGES = ("langgraph_api", "langgraph_runtime_inmem")
ROUTES = ("Route", "ApiRoute", "Mount")
SOCKETS = ("ApiWebSocketRoute", "WebSocketRoute")
_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")


@dataclass(frozen=True, order=True)
class Route:
    """One method on one path, with its parameters still open."""

    method: str  # WEBSOCKET for one that is no HTTP
    path: str

    def filled(self, values: Mapping[str, str]) -> str:
        """Write its path with what is attacked."""
        return _PARAMETER.sub(lambda name: values.get(name[1], "x"), self.path)


def routes(openapi: Mapping[str, Any]) -> list[Route]:
    """List the routes in the code and in the description, and HEAD and OPTIONS of each path."""
    listed = {*_described(openapi), *(route for package in PACKAGES for route in _written(package))}
    paths = {route.path for route in listed if route.method != "WEBSOCKET"}
    listed |= {Route(method, path) for path in paths for method in ("HEAD", "OPTIONS")}
    return sorted(listed)


def body_for(route: Route, thread: str, assistant: str) -> str:
    """Write the body that does most harm on a route."""
    approve = {"resume": {"decisions": [{"type": "approve"}]}}
    body: dict[str, Any] = {}
    if route.path.endswith(("/runs", "/stream", "/wait", "/crons", "/batch")):
        body = {"assistant_id": assistant, "command": approve}
    elif route.path.endswith("/state"):
        body = {"values": {"approved": True}, "as_node": "plan_approval"}
    elif route.path.endswith("/commands"):
        body = {"id": 1, "method": "run.start", "params": {"assistant_id": assistant, "input": None}}
    elif route.path.endswith("/stream/events"):
        body = {"channels": ["values", "messages", "custom"]}
    elif route.path.endswith("/state/checkpoint"):
        body = {"checkpoint": {"thread_id": thread, "checkpoint_ns": ""}}
    elif route.path == "/threads/prune":
        body = {"thread_ids": [thread]}
    elif route.path == "/threads":
        body = {"thread_id": thread, "if_exists": "do_nothing"}
    elif route.path == "/runs/cancel":
        body = {"status": "all"}
    elif route.path == "/assistants":
        body = {"graph_id": "planwright"}
    return json.dumps([body] if route.path.endswith("/batch") else body)


def _described(openapi: Mapping[str, Any]) -> Iterator[Route]:
    for path, methods in openapi["paths"].items():
        yield from (Route(method.upper(), path) for method in methods if method != "parameters")


def _written(package: str) -> Iterator[Route]:
    """Find the routes in the source of a package: calls like ApiRoute("/threads", …, methods=["POST"])."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    for folder in spec.submodule_search_locations or ():
        for source in Path(folder).rglob("*.py"):
            for node in ast.walk(ast.parse(source.read_text("utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    yield from _called(node.func.id, node)


def _called(name: str, call: ast.Call) -> Iterator[Route]:
    first = call.args[0] if call.args else None
    if name not in ROUTES + SOCKETS or not isinstance(first, ast.Constant):
        return
    path, methods = str(first.value), ["WEBSOCKET" if name in SOCKETS else "GET"]
    for keyword in call.keywords:
        if keyword.arg == "methods" and isinstance(keyword.value, ast.List):
            methods = [str(one.value) for one in keyword.value.elts if isinstance(one, ast.Constant)]
    for method in methods:
        yield Route(method, f"{path}/x" if name == "Mount" and path else path)
