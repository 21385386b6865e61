"""A person asks for another plan, by keyboard alone, and approves that one; a file comes with the request."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.extras.web.browser.conftest import (
    Served,
    Visitor,
    begin_and_decide,
    decide,
    picture,
    press,
    serving,
    tab_to,
)
from tests.wire.scripted_server import ScriptedServer, says

pytestmark = [pytest.mark.long, pytest.mark.enable_socket]


def plan(title: str) -> str:
    """Write a plan of one step, as a model would."""
    step = {"id": "s1", "capability": "tickets.create", "params": {"title": title, "body": "Three"}}
    return json.dumps({"goal": "Order cables", "steps": [step]})


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Serve a workspace whose model makes another plan once it is told what should be different."""
    folder = tmp_path / "desk"
    folder.mkdir()
    replies = [says(plan("Cabels")), says(plan("Cables")), says("The ticket is there.")]
    with ScriptedServer(replies) as server:
        provider = f'[providers.local]\nbase_url = "{server.base_url}"\napi_key = "k"\nmodel = "m"\n'
        (folder / "planwright.toml").write_text(f'{provider}[planning]\nmode = "always"\n', "utf-8")
        with serving(folder, tmp_path, "web", "--workspace", str(folder)) as workspace:
            yield workspace
    told = [request.sent("user") for request in server.requests]
    assert "spell it right" in told[1]
    (upload,) = (folder / "uploads").glob("*/*")
    assert upload.read_text("utf-8") == "three, of 2 m"
    assert str(upload.relative_to(folder)) in told[0]


def test_another_plan_is_asked_for_and_approved_without_a_mouse(
    visit: Callable[..., Visitor], served: Served, tmp_path: Path
) -> None:
    (tmp_path / "lengths.txt").write_text("three, of 2 m", "utf-8")
    page = visit().page
    press(page, "New request")
    page.wait_for_url("**/new")
    page.keyboard.type("Order three cables")  # the field has the focus
    page.get_by_label("Files").set_input_files(tmp_path / "lengths.txt")
    run = begin_and_decide(page)
    first = page.url
    expect(page.get_by_text("Cabels").first).to_be_visible()
    tab_to(page, "Reason, or what should be different")
    page.keyboard.type("spell it right")
    press(page, "Ask for another plan")
    page.wait_for_url(run)
    expect(page.locator(f"a[href='{first.removeprefix(served.origin)}']")).to_have_count(0)
    decide(page)
    assert page.url != first
    expect(page.get_by_text("Cables").first).to_be_visible()
    expect(page.get_by_text("Cabels")).to_have_count(0)
    picture(page, "page-another-plan")
    press(page, "Approve")
    page.wait_for_url(run)
    expect(page.locator(".meta")).to_contain_text("completed")
    listed = json.loads(served.command("call", "tickets.list", "--json").stdout)["answer"]
    assert ("Cables" in listed, "Cabels" in listed) == (True, False)
