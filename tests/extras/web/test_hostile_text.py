"""What others wrote, in every field of a run, is shown as text: it cannot act, hide, or fill the screen."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import quote

from planwright.extras.web.view_models.values import value_rows
from tests.extras.web.conftest import Browser, MakeStage, Stage

HOSTILE = (
    '<script>alert(1)</script><img src=x onerror=alert(2)>"\'><a href="javascript:alert(3)">'
    "{{7777*7777}}{% raw %}"
)
SCREEN = "\x1b[31mred\x1b[0m \u202egnp.exe \u2066hidden\u2069 \u200b \ufeff"
ALLOWED = frozenset(
    "a aside body button caption code dd details div dl dt fieldset form h1 h2 h3 h4 head header html".split()
)
ALLOWED |= frozenset(
    "input label legend li link main meta nav ol option output p path rect script section select".split()
)
ALLOWED |= frozenset("span strong summary svg table tbody td text textarea th thead time title tr ul".split())


class Tags(HTMLParser):
    """Collects the elements of a page, and whatever could act."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.acting: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.tags.add(tag)
        for name, value in attrs:
            if (
                name.startswith("on")
                or name == "style"
                or (value or "").strip().lower().startswith("javascript:")
            ):
                self.acting.append(f"{tag} {name}={value}")
        if tag == "script" and dict(attrs).get("src") != "/static/page.js":
            self.acting.append(f"script {attrs}")


def tags(html: str) -> Tags:
    """Read the elements of a page."""
    parser = Tags()
    parser.feed(html)
    return parser


def harmless(html: str) -> bool:
    """Say whether a page has only elements of ours, and none that acts."""
    page = tags(html)
    assert page.tags <= ALLOWED, page.tags - ALLOWED
    assert page.acting == []
    for letter in "\x1b\u202e\u2066\u2069\u200b\ufeff":
        assert letter not in html, repr(letter)
    assert "60481729" not in html
    return True


def test_the_reader_of_these_tests_sees_what_acts() -> None:
    page = tags(HOSTILE + "<svg onload=x>")
    assert page.tags >= {"script", "img", "a"}
    assert len(page.acting) == 4


async def test_hostile_text_in_every_field_of_a_run_is_shown_as_text(make_stage: MakeStage) -> None:
    nasty = HOSTILE + SCREEN
    step = {"id": "s1", "capability": "tickets.create", "description": nasty}
    value = nasty.replace("{{7777*7777}}", "")  # a reference that is none would be refused
    stage = make_stage([{**step, "params": {"title": value, "body": value, "amount": value}}])
    ada = await stage.sign_in()
    run_id, gate_id = await stage.waiting_gate(ada, nasty)
    pages = ["/approvals/together?capability=*"]
    pages += ["/approvals", f"/approvals/{gate_id}", f"/approvals/{gate_id}/edit", "/runs", f"/runs/{run_id}"]
    for path in pages:
        answer = await ada.get(path)
        assert answer.status_code == 200, path
        assert harmless(answer.text), path
    await stage.answer(ada, gate_id, "approve")
    assert await stage.ended(run_id) == "completed"
    pages += [f"/runs/{run_id}/{more}" for more in ("log", "at/9", "undo", "doubts")] + ["/effects"]
    sent = quote(nasty, safe="")
    await hostile_memory_and_session(stage, ada, run_id, nasty)
    pages += [f"/workspace/{name}" for name in ("usage", "evaluation", "sessions", "memory?every=yes")]
    pages += [f"/workspace/{name}?text={sent}" for name in ("memory", "capabilities", "settings")]
    pages += [f"/workspace/policy?capability=tickets.create&args={sent}", f"/runs/{run_id}/policy"]
    pages += [f"/workspace/policy?capability={sent}&agent={sent}", f"/workspace/capabilities/{sent}"]
    pages += [f"/approvals/together?capability={sent}", f"/runs/{run_id}/compare?with={run_id}"]
    pages += [f"/runs?text={sent}", f"/effects?text={sent}", f"/new?request={sent}", f"/runs/{sent}"]
    for path in pages:
        assert harmless((await ada.get(path)).text), path


async def hostile_memory_and_session(stage: Stage, ada: Browser, run_id: str, nasty: str) -> None:
    """Let hostile text stand in a memory, a proposal, a session, and in forms that are shown again."""
    await stage.remembered(run_id, nasty)
    assert (await ada.post("/new", request=nasty, background="yes")).status_code == 303
    for path, fields in (
        (f"/runs/{run_id}/policy", {"policy": nasty}),
        ("/workspace/capabilities/tickets.create", {"arg-title": nasty + "{{steps.s1.output}}"}),
        (f"/runs/{run_id}/extend", {"tokens": nasty}),
        ("/approvals/together", {"gate": f"{nasty.replace(' ', '')} x y", "capability": nasty}),
    ):
        assert harmless((await ada.post(path, **fields)).text), path


async def test_long_texts_fill_no_page_but_that_where_they_are_decided_over(make_stage: MakeStage) -> None:
    step = {"id": "s1", "capability": "tickets.create", "params": {"title": "Long", "body": "x" * 50_000}}
    stage = make_stage([step])
    ada = await stage.sign_in()
    assert "100,000 are allowed" in (await ada.post("/new", request="y" * 1_000_000)).text
    run_id, gate_id = await stage.waiting_gate(ada, "y" * 100_000)
    for path in ("/approvals", "/runs", f"/runs/{run_id}", f"/runs/{run_id}/log"):
        assert len((await ada.get(path)).text) < 30_000, path
    gate = (await ada.get(f"/approvals/{gate_id}")).text
    assert "x" * 50_000 in gate
    assert len(gate) < 80_000


def test_a_megabyte_is_cut_and_says_how_long_it_is() -> None:
    (row,) = value_rows({}, {"body": "x" * 1_000_000})
    assert row.value.endswith("… (1,000,000 characters)")
    assert len(row.value) < 5_000
