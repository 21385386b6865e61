"""Several people at a page: a quorum, an effect in doubt, two runs compared."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.extras.web.browser.conftest import Served, Visitor, serving

pytestmark = pytest.mark.long
Visit = Callable[..., Visitor]
TOKENS = {name: name * 12 for name in ("ada", "ben", "kim")}
PAYMENTS = '''
import os
from pathlib import Path

from planwright.capabilities import CallContext, capability


@capability("payments.pay", mode="network", effect="blind", risk="High", tags=("pay",))
async def pay(order: str, call: CallContext) -> str:
    """Pay an order; the process that pays order 7 for the first time dies before it hears the answer."""
    paid = Path(__file__).with_name("paid.txt")
    with paid.open("a") as file:
        file.write(f"{order}\\n")
    if order == "7" and paid.read_text().count("7") == 1:
        os._exit(9)
    return f"paid {order}"
'''
POLICY = """
[[rule]]
match = { capability = "tickets.create" }
decide = "ask"
approvers = ["ada", "ben"]
quorum = 2

[[rule]]
decide = "ask"
"""


def token_of(name: str, rights: str = "") -> str:
    """Spell the table of a token."""
    digest = hashlib.sha256(TOKENS[name].encode()).hexdigest()
    return f'[server.tokens.{name}]\nsha256 = "{digest}"\n{rights}\n'


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Serve a workspace with people, a rule for two of them, and a capability that kills its process."""
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "payments.py").write_text(PAYMENTS, "utf-8")
    (folder / "policy.toml").write_text(POLICY, "utf-8")
    people = token_of("ada") + token_of("ben") + token_of("kim", 'rights = ["request"]')
    modules = '[capabilities]\nmodules = ["payments"]\n'
    (folder / "planwright.toml").write_text(people + modules, "utf-8")
    with serving(folder, tmp_path, "web", "--workspace", str(folder)) as workspace:
        yield workspace


def signed_in(visit: Visit, served: Served, name: str) -> Page:
    """Sign somebody in with a browser of their own."""
    page: Page = visit(f"{served.origin}/sign-in").page
    page.get_by_label("Token").fill(TOKENS[name])
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("details.person > summary")).to_have_text(name)
    return page


def asked(page: Page, served: Served, words: str) -> str:
    """Ask for something, and wait until it waits; return the path of its run."""
    page.goto(f"{served.origin}/new")
    page.locator("textarea").first.fill(words)
    page.get_by_role("button", name="Begin").click()
    page.wait_for_url("**/runs/**")
    expect(page.get_by_text("It waits for a decision").first).to_be_visible()
    return page.url


def test_two_people_make_a_quorum_and_a_third_can_only_look(visit: Visit, served: Served) -> None:
    kim, ada, ben = (signed_in(visit, served, name) for name in ("kim", "ada", "ben"))
    run = asked(kim, served, 'Create a ticket with title "Cables" and body "Three of them"')
    kim.get_by_role("link", name="Decide").click()
    expect(kim.get_by_text("only people who may approve decide").first).to_be_visible()
    expect(kim.get_by_role("button", name="Approve")).to_be_disabled()
    ada.goto(run)
    ada.get_by_role("link", name="Decide").first.click()
    ada.get_by_role("button", name="Approve").click()  # the plan with its call, which waits for one more
    ada.wait_for_url("**/runs/**")
    for person in (kim, ben):
        person.goto(run)
        person.get_by_role("link", name="Decide").first.click()
    expect(kim.get_by_text("1 of 2").first).to_be_visible()
    ben.get_by_role("button", name="Approve").click()
    ben.wait_for_url("**/runs/**")
    expect(ben.locator(".meta")).to_contain_text("completed")


def test_a_rejected_run_is_compared_with_another(visit: Visit, served: Served) -> None:
    ada = signed_in(visit, served, "ada")
    first = asked(ada, served, 'Create a ticket with title "Cables" and body "Three"')
    ada.get_by_role("link", name="Decide").click()
    ada.locator("textarea[name=message]").fill("Not today")
    ada.get_by_role("button", name="Reject").click()
    ada.wait_for_url("**/runs/**")
    expect(ada.locator(".meta")).to_contain_text("rejected")
    second = asked(ada, served, 'Create a ticket with title "Plugs" and body "Two"')
    ada.goto(f"{first}/compare?with={second.rsplit('/', 1)[1]}")
    expect(ada.locator("main")).to_contain_text("Plugs")
    expect(ada.locator("main")).to_contain_text("Cables")


def test_an_effect_in_doubt_is_decided_on_the_page(visit: Visit, served: Served) -> None:
    begun = served.command("call", "payments.pay", "--order=7", "--no-input")
    assert begun.returncode == 3, begun.stderr
    ada = signed_in(visit, served, "ada")
    assert served.command("approve", "last").returncode == 9
    ada.goto(f"{served.origin}/runs")
    ada.locator("table a").first.click()
    ada.get_by_role("button", name="Go on with it").click()
    ada.get_by_role("link", name="Decide").click()
    expect(ada.get_by_text("Nobody knows whether this happened")).to_be_visible()
    ada.get_by_label("It happened", exact=True).check()
    ada.get_by_role("button", name="Record this").click()
    ada.wait_for_url("**/runs/**")
    expect(ada.locator(".meta")).to_contain_text("completed")
    assert (served.folder / "paid.txt").read_text("utf-8") == "7\n"
