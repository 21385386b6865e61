"""The page within LangGraph's server: the same store, address and tokens, and each behind its own door."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from langgraph_sdk.client import SyncLangGraphClient

from planwright.graph.serving.requests import PAGE
from planwright.security.tickets import own_host
from tests.cli.desk import wait_until
from tests.server.conftest import Server, Studio
from tests.server.conversation import APPROVE, Errand, trace

READABLE = ("text/html; charset=utf-8", "text/css; charset=utf-8")  # and no stream, which does not end
pytestmark = [pytest.mark.enable_socket, pytest.mark.long]


@pytest.fixture
def visit(server: Server) -> Iterator[httpx.Client]:
    """A browser that has signed in with the token of the start."""
    own = f"{own_host(server.token)}:{urlsplit(server.url).port}"
    named = {"Origin": f"http://{own}", "Host": own}
    with httpx.Client(base_url=server.url, headers=named, trust_env=False, follow_redirects=True) as client:
        page = client.post(f"{PAGE}/sign-in", data={"token": server.token})
        assert page.url.path == f"{PAGE}/approvals"
        yield client


def csrf(visit: httpx.Client) -> str:
    """Read the token that every form of a visit brings."""
    return str(re.findall(r'name="csrf" value="([^"]+)"', visit.get(f"{PAGE}/new").text)[0])


def card(visit: httpx.Client, errand: Errand) -> str:
    """Find the path of the gate of an errand in the inbox."""
    for path in set(re.findall(rf"{PAGE}/approvals/gate_[0-9a-f]+", visit.get(f"{PAGE}/approvals").text)):
        if errand.name in visit.get(path).text:
            return str(path)
    return ""


def words_of(client: SyncLangGraphClient, thread: str) -> str:
    """Read what was said on a thread."""
    values: Any = client.threads.get_state(thread)["values"]
    return str(values.get("messages"))


def approve(visit: httpx.Client, path: str) -> httpx.Response:
    """Send the form of a card."""
    hash_ = re.findall(r'name="plan_hash" value="([^"]+)"', visit.get(path).text)[0]
    return visit.post(path, data={"csrf": csrf(visit), "plan_hash": hash_, "type": "approve"})


def test_what_an_sdk_began_is_approved_on_the_page(
    client: SyncLangGraphClient, server: Server, visit: httpx.Client
) -> None:
    errand, thread = Errand(), client.threads.create()["thread_id"]
    client.runs.wait(thread, "planwright", input=errand.input)
    page = approve(visit, card(visit, errand))
    assert page.url.path.startswith(f"{PAGE}/runs/run_")
    assert wait_until(lambda: errand.is_done(server.desk))
    assert wait_until(lambda: trace(server.desk, thread).executions == [1, 1])


def test_what_the_page_began_is_approved_by_an_sdk(
    client: SyncLangGraphClient, server: Server, visit: httpx.Client
) -> None:
    errand = Errand()
    visit.post(f"{PAGE}/new", data={"csrf": csrf(visit), "request": errand.request})
    assert wait_until(lambda: bool(card(visit, errand)))
    waiting: list[Any] = client.threads.search(limit=50)
    (thread,) = [row["thread_id"] for row in waiting if errand.name in words_of(client, row["thread_id"])]
    output: Any = client.runs.wait(thread, "planwright", command={"resume": APPROVE})
    assert output["status"] == "completed"
    assert errand.is_done(server.desk)
    assert card(visit, errand) == ""


@pytest.mark.parametrize("path", ["/threads/search", "/page/../threads/search", "/runs/stream"])
def test_the_cookie_of_the_page_opens_nothing_of_the_api(visit: httpx.Client, path: str) -> None:
    assert visit.post(path, json={}).status_code in (401, 403)


def test_the_token_of_an_sdk_opens_no_page_without_a_visit(server: Server) -> None:
    headers = {"x-api-key": server.token, "Authorization": f"Bearer {server.token}"}
    with httpx.Client(base_url=server.url, headers=headers, trust_env=False) as client:
        own = f"{own_host(server.token)}:{urlsplit(server.url).port}"
        assert client.get(f"{PAGE}/runs", headers={"Host": own}).status_code == 401
        assert client.get(f"{PAGE}/runs").status_code == 421
        assert client.get(PAGE).headers["location"] == f"{PAGE}/"


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://smith.langchain.com"}, {"Host": "evil.example"}, {"Sec-Fetch-Site": "cross-site"}],
)
def test_a_form_from_elsewhere_is_refused(visit: httpx.Client, headers: dict[str, str]) -> None:
    answer = visit.post(f"{PAGE}/new", data={"csrf": csrf(visit), "request": "Save x"}, headers=headers)
    assert answer.status_code == 403
    assert "access-control-allow-credentials" not in answer.headers


def test_every_link_of_the_page_stays_below_it(visit: httpx.Client) -> None:
    seen, left = set[str](), [f"{PAGE}/"]
    while left:
        page = visit.get(left.pop())
        assert page.status_code in (200, 409), page.url
        links = re.findall(r'(href|src|action|data-(?!root)[a-z]+)="(/[^"]*)"', page.text)
        assert [link for _, link in links if not link.startswith(f"{PAGE}/")] == [], page.url
        fresh = {link.partition("#")[0] for name, link in links if name == "href"} - seen
        seen |= fresh
        left += [link for link in fresh if visit.head(link).headers["content-type"] in READABLE]
    assert {f"{PAGE}/runs", f"{PAGE}/workspace/people", f"{PAGE}/new"} <= seen


def test_studio_prints_the_link_of_the_page(studio: Studio) -> None:
    (link,) = re.findall(rf"http\S+{PAGE}/sign-in\S+", studio.said)
    own = urlsplit(link)
    by_address = link.replace(str(own.hostname), "127.0.0.1")
    with httpx.Client(headers={"Host": own.netloc}, trust_env=False) as client:
        assert f'content="0; url={PAGE}/"' in client.get(by_address).text
        assert client.get(f"http://127.0.0.1:{own.port}{PAGE}/approvals").status_code == 200
    assert httpx.get(by_address, trust_env=False).status_code == 421
