"""Every route and every kind of stranger, by a table made from the routes: refused, and nothing changed."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from planwright.security.tickets import make_ticket
from tests.extras.web.conftest import BASE, HOST, START, TOKENS, MakeStage, Stage

OPEN = "/sign-in"
KNOWN = {OPEN: (200, 401), "/answer/{token}": (404, 403)}
"""What a stranger hears where it is not that they have to sign in."""
EVIL = "https://evil.example"


def routes_of(app: Starlette) -> list[tuple[str, str]]:
    """List method and path of every route of ours."""
    return [
        (method, route.path)
        for route in app.routes
        if isinstance(route, Route)
        for method in sorted(route.methods or ())
        if method != "HEAD"
    ]


def filled(path: str, ids: dict[str, str]) -> str:
    """Put ids into a path."""
    for name, value in ids.items():
        path = path.replace("{" + name + "}", value)
    assert "{" not in path, path
    return path


def content(stage: Stage) -> list[tuple[object, ...]]:
    """Read what must not change: runs, gates, plans, effects, what is remembered, sessions."""
    with closing(sqlite3.connect(stage.folder / ".planwright" / "planwright.db")) as database, database:
        tables = "runs gates plans effects forks memories proposals sessions extensions".split()
        queries = {"runs": "SELECT run_id, status, cancelled_by, answer FROM runs"}
        rows = [
            tuple(row)
            for name in tables
            for row in database.execute(queries.get(name, f"SELECT * FROM {name}"))
        ]
    database.close()
    return rows


async def send(
    client: httpx.AsyncClient, method: str, path: str, headers: dict[str, str], csrf: str
) -> httpx.Response:
    """Send what would work if it came from a page of ours."""
    form = {"csrf": csrf, "type": "approve", "request": "x", "message": "x", "way": "yaml", "yaml": "x"}
    data = form if method == "POST" else None
    return await client.request(method, path, data=data, headers=headers)


async def test_strangers_are_refused_on_every_route_and_change_nothing(make_stage: MakeStage) -> None:
    stage = make_stage()
    ours = await stage.sign_in()
    run_id, gate_id = await stage.waiting_gate(ours)
    ids = {
        "run_id": run_id,
        "gate_id": gate_id,
        "seq:int": "3",
        "capability": "tickets.create",
        "token": "x" * 43,
        **await stage.remembered(run_id),
    }
    before, own = content(stage), {"Origin": BASE}
    nobody, forged = stage.client(), stage.client()
    forged.cookies.set("planwright-2025", "x" * 43)
    elsewhere = stage.client("http://evil.example:2025")
    elsewhere.cookies = ours.client.cookies
    table = routes_of(stage.app)
    assert len(table) >= 25
    for method, pattern in table:
        path, csrf = filled(pattern, ids), ours.csrf
        known = KNOWN.get(pattern, (401,))
        assert (await send(nobody, method, path, own, csrf)).status_code in known, path
        assert (await send(forged, method, path, own, csrf)).status_code in known, path
        for headers in ({"Origin": EVIL}, {"Origin": "null"}, {**own, "Sec-Fetch-Site": "cross-site"}):
            assert (await send(ours.client, method, path, headers, csrf)).status_code == 403, (path, headers)
        assert (await send(elsewhere, method, path, {}, csrf)).status_code == 403, path
        if method == "POST" and pattern not in KNOWN:
            for csrf in ("", "x" * 43, ours.csrf[:-1]):
                assert (await send(ours.client, method, path, own, csrf)).status_code == 403, path
            assert (await send(ours.client, method, path, {}, ours.csrf)).status_code == 403, path
    assert content(stage) == before


@pytest.mark.long
async def test_another_tenant_sees_and_changes_nothing(make_stage: MakeStage) -> None:
    stage = make_stage()
    ours = await stage.sign_in()
    run_id, gate_id = await stage.waiting_gate(ours, "Order the secret cables")
    eve = await stage.sign_in(TOKENS["eve"])
    ids = {
        "run_id": run_id,
        "gate_id": gate_id,
        "seq:int": "3",
        "capability": "tickets.create",
        "token": "x" * 43,
        **await stage.remembered(run_id),
    }
    before = content(stage)
    for method, pattern in routes_of(stage.app):
        if pattern in ("/events", "/sign-in", "/sign-out", "/new"):
            continue
        path = filled(pattern, ids)
        answer = await send(eve.client, method, path, {"Origin": BASE}, eve.csrf)
        assert "secret cables" not in answer.text, path
        of_tenant = "{" in pattern and "{capability}" not in pattern  # those are of the workspace
        assert not of_tenant or answer.status_code in (404, 409), path
    assert content(stage) == before


async def test_what_forbids_a_browser_all_it_does_not_need_comes_with_every_answer(
    make_stage: MakeStage,
) -> None:
    client = make_stage().client()
    for path in ("/sign-in", "/approvals", "/static/page.css", "/nowhere"):
        headers = (await client.get(path)).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy, path
        assert "unsafe" not in policy, path
        assert (headers["cache-control"], headers["x-frame-options"]) == ("no-store", "DENY"), path
        assert "access-control-allow-origin" not in headers, path


async def test_the_cookie_is_for_this_host_alone_and_holds_no_token(make_stage: MakeStage) -> None:
    client = make_stage().client()
    answer = await client.post("/sign-in", data={"token": START}, headers={"Origin": BASE})
    cookie = answer.headers["set-cookie"].lower()
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "domain" not in cookie
    assert START not in cookie


@pytest.mark.parametrize("host", ["127.0.0.1:2025", "localhost:2025", "[::1]:2025", "LOCALHOST:2025"])
async def test_by_an_address_that_all_servers_have_nobody_is_let_in_and_the_own_host_is_not_told(
    make_stage: MakeStage, host: str
) -> None:
    stage = make_stage()
    ada = await stage.sign_in()
    for path in (
        "/approvals",
        "/sign-in",
        f"/sign-in?ticket={make_ticket(START)}",
        "/nowhere",
        "/sign-in/back?state=x",
    ):
        answer = await ada.client.get(path, headers={"Host": host})
        assert answer.status_code in (421, 401), path
        assert HOST.partition(".")[0] not in answer.text + str(answer.headers), path
        assert "set-cookie" not in answer.headers, path
    form = {"data": {"token": START}, "headers": {"Host": host, "Origin": f"http://{host.lower()}"}}
    assert (await ada.client.post("/sign-in", **form)).status_code == 421  # type: ignore[arg-type]
    assert "planwright web --link" in (await ada.client.get("/", headers={"Host": host})).text


async def test_a_visit_ends_when_somebody_signs_out(make_stage: MakeStage) -> None:
    browser = await make_stage().sign_in()
    cookies = httpx.Cookies(browser.client.cookies)
    assert (await browser.post("/sign-out")).status_code == 303
    browser.client.cookies = cookies  # a browser that did not forget it
    assert (await browser.get("/approvals")).status_code == 401
