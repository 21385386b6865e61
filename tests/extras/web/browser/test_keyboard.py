"""The page without a mouse: what Tab, Enter, Space and letters reach is all that a job needs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.extras.web.browser.conftest import Visitor, begin_and_decide, press

pytestmark = pytest.mark.long
Visit = Callable[..., Visitor]


def test_the_demo_from_the_first_page_to_the_answer_without_a_mouse(visit: Visit) -> None:
    page = visit().page
    expect(page.get_by_role("heading", name="Approvals")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    press(page, "New request")
    page.wait_for_url("**/new")
    press(page, "Search my emails for the invoice from Acme")
    page.wait_for_url("**/new?request=**")
    press(page, "only plan, run nothing", "Space")
    expect(page.get_by_label("only plan, run nothing")).to_be_checked()
    page.keyboard.press("Space")
    run = begin_and_decide(page)
    press(page, "Approve")
    page.wait_for_url(run)
    expect(page.locator(".answer")).to_be_visible()
    expect(page.locator(".meta")).to_contain_text("completed")
