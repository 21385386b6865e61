"""The demo in Chromium, from an empty workspace to the answer; two browsers and a terminal at one gate."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.extras.web.browser.conftest import (
    PHONE,
    WIDE,
    Served,
    Visitor,
    findings,
    picture,
    press,
)

pytestmark = pytest.mark.long
Visit = Callable[..., Visitor]
SUBJECTS = "usage evaluation sessions memory capabilities policy servers settings checks".split()
FIRST = "Search my emails for the invoice from Acme"


def begin(visitor: Visitor, text: str = FIRST) -> str:
    """Ask for the demo's job, as it is offered, and wait until its plan waits; return the path of its run."""
    page = visitor.open("/new")
    page.get_by_role("link", name=text).click()
    page.get_by_role("button", name="Begin").click()
    page.wait_for_url("**/runs/**")
    path = page.url.removeprefix(visitor.served.origin)
    expect(page.get_by_role("link", name="Decide")).to_be_visible()
    return path


def no_wider_than_the_screen(page: Page) -> bool:
    """Say whether nothing of a page is beyond the right edge of a phone."""
    page.set_viewport_size(PHONE)
    width = page.evaluate("document.documentElement.scrollWidth")
    return bool(width <= PHONE["width"])


def test_the_demo_is_edited_approved_looked_back_on_and_undone(
    visit: Visit, served: Served, axe: str
) -> None:
    visitor = visit()
    page = visitor.page
    expect(page.get_by_role("heading", name="Approvals")).to_be_visible()
    print(f"\nfirst page {time.monotonic() - served.began:.2f} s after the command")
    assert "token" not in page.url
    run = begin(visitor)
    page.get_by_role("link", name="Decide").click()
    expect(page.get_by_role("heading", name="Approve a plan")).to_be_visible()
    picture(page, "page-approval")
    page.get_by_role("link", name="Edit the plan").click()
    title = page.locator("#step-3").get_by_label("title")
    title.fill("Invoice of Acme, to be paid")
    page.get_by_role("button", name="Check it first").click()
    expect(page.get_by_text("This edit passes all rules")).to_be_visible()
    expect(page.locator(".changes")).to_contain_text("Invoice of Acme, to be paid")
    edited = urlsplit(page.url).path.removesuffix("/check")
    page.get_by_role("button", name="Send the edit").click()
    page.wait_for_url(f"**{run}")
    decide = page.get_by_role("link", name="Decide")
    expect(decide).not_to_have_attribute("href", edited)  # until the edit is asked for
    decide.click()
    expect(page.get_by_text("What has changed")).to_be_visible()
    page.get_by_role("button", name="Approve").click()
    page.wait_for_url(f"**{run}")
    expect(page.locator(".answer")).to_contain_text("Created the ticket")
    expect(page.locator(".meta")).to_contain_text("completed")
    page.locator("#step-3 > summary").click()
    expect(page.locator("#step-3")).to_contain_text("EUR 4,310.50")
    expect(page.locator("#step-3 .output")).to_contain_text("Invoice of Acme, to be paid")
    page.evaluate("scrollTo(0, 0)")
    picture(page, "page-run")
    assert findings(page, axe) == []
    look_back(page)
    undo(page, axe)


def look_back(page: Page) -> None:
    """Go back over a run with the keyboard, then to now."""
    slider = page.get_by_label("Look back")
    slider.focus()
    page.keyboard.press("Home")
    expect(page.locator("#scrub-at")).to_contain_text("event 1 of")
    expect(page.locator(".answer")).to_have_count(0)
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#scrub-at")).to_contain_text("event 10 of")
    expect(page.locator(".plan a.step")).to_have_count(5)
    page.get_by_role("button", name="Back to now").click()
    expect(page.locator(".answer")).to_be_visible()


def undo(page: Page, axe: str) -> None:
    """Look at what can be undone of a run, and undo it, which asks again."""
    page.get_by_role("link", name="Undo what it did").click()
    expect(page.get_by_role("heading", name="Undo what it did")).to_be_visible()
    assert findings(page, axe) == []
    page.get_by_role("button", name="Begin the undoing").click()
    page.get_by_role("link", name="Decide").click()
    page.get_by_role("button", name="Approve").click()
    expect(page.locator(".meta")).to_contain_text("completed")


def test_one_decision_for_two_browsers_and_a_terminal(visit: Visit, served: Served, axe: str) -> None:
    first, second = visit(), visit()
    run = begin(first)
    first.page.get_by_role("link", name="Decide").click()
    gate = first.page.url.removeprefix(served.origin)
    second.open(gate)
    expect(second.page.get_by_role("button", name="Approve")).to_be_enabled()
    gate_id = gate.rsplit("/", 1)[1]
    typed = served.command("reject", gate_id, "--reason", "not this week", "--no-input")
    decided = time.monotonic()
    assert typed.returncode == 4, typed.stderr
    for visitor in (first, second):
        expect(visitor.page.locator("[data-decided]")).to_contain_text("not this week")
        expect(visitor.page.get_by_role("button", name="Approve")).to_have_count(0)
    print(f"\nboth pages knew {time.monotonic() - decided:.2f} s after the terminal had ended")
    assert findings(second.page, axe) == []
    expect(first.open(run).locator(".meta")).to_contain_text("rejected")


def test_a_rejection_on_a_small_screen_by_keyboard_alone_keeps_its_reason(
    visit: Visit, served: Served
) -> None:
    visitor = visit()
    page = visitor.page
    page.set_viewport_size(PHONE)
    run = begin(visitor)
    press(page, "Decide")
    page.wait_for_url("**/approvals/**")
    page.get_by_label("Reason, or what should be different").focus()
    page.keyboard.type("the amount is wrong")
    press(page, "Reject")
    page.wait_for_url(f"**{run}")
    expect(page.locator(".meta")).to_contain_text("rejected")
    listed = json.loads(served.command("show", run.rsplit("/", 1)[1], "--json").stdout)
    assert listed["gates"][0]["reason"] == "the amount is wrong"


def test_without_javascript_several_are_approved_at_once_and_a_call_is_made(visit: Visit) -> None:
    visitor = visit(java_script_enabled=False)
    page = visitor.page
    runs = []
    for _ in range(2):
        visitor.open("/new")
        page.get_by_role("link", name=FIRST).click()
        page.get_by_role("button", name="Begin").click()
        reload_until(page, "Decide")
        runs.append(page.url.removeprefix(visitor.served.origin))
    visitor.open("/approvals")
    page.get_by_role("link", name="Approve several at once").click()
    page.get_by_label("Capability, or a pattern").fill("*")
    page.get_by_role("button", name="Show its gates").click()
    page.get_by_role("button", name="Approve those that are chosen").click()
    expect(page.get_by_role("heading", name="2 of 2 approvals were taken")).to_be_visible()
    for run in runs:
        visitor.open(run)
        reload_until(page, "Undo what it did")
    visitor.open("/workspace/capabilities")
    page.get_by_role("link", name="tickets.create").click()
    page.get_by_label("title").fill("Typed on the page")
    page.get_by_role("button", name="Begin the call").click()
    reload_until(page, "Decide")
    visitor.open("/workspace")
    expect(page.get_by_role("heading", name="Usage", exact=True)).to_be_visible()
    expect(page.get_by_role("img", name="calls by day: 10 in 30 days", exact=True)).to_be_visible()


def reload_until(page: Page, name: str) -> None:
    """Load a page again until it has a link; without JavaScript nothing else keeps it true."""
    for _ in range(300):
        if page.get_by_role("link", name=name).count():
            return
        page.reload()
    raise AssertionError(f"there is no {name}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_accessible_and_fits_a_phone(visit: Visit, axe: str, scheme: str) -> None:
    visitor = visit(color_scheme=scheme)
    run = begin(visitor)
    visitor.page.get_by_role("link", name="Decide").click()
    gate = visitor.page.url.removeprefix(visitor.served.origin)
    paths = [
        "/approvals",
        gate,
        f"{gate}/edit",
        run,
        f"{run}/log",
        f"{run}/compare",
        "/runs",
        "/effects",
        "/new",
        "/approvals/together?capability=*",
        f"{run}/policy",
        "/workspace/capabilities/tickets.create",
        "/workspace/policy?capability=tickets.create",
        *(f"/workspace/{name}" for name in SUBJECTS),
    ]
    for path in paths:
        page = visitor.open(path)
        page.wait_for_load_state()
        assert findings(page, axe) == [], path
        assert no_wider_than_the_screen(page), path
        assert findings(page, axe) == [], path
        if (path, scheme) == (gate, "dark"):
            picture(page, "page-phone")
        page.set_viewport_size(WIDE)
