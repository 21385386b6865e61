"""Pages made of templates. Whatever is put into one is text: it cannot act, hide, or hold a known secret."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from planwright.extras.web import words
from planwright.extras.web.drawing.plan_picture import MARKS
from planwright.extras.web.view_models.values import real_rows
from planwright.extras.web.visits import Visit
from planwright.presentation.printable import safe
from planwright.security.redaction.redactor import Redactor

FOLDER = Path(__file__).parent
TEMPLATES, STATIC = FOLDER / "templates", FOLDER / "static"


class Pages:
    """Render the templates of this folder; `root` is the path under which the page is mounted."""

    def __init__(self, redactor: Redactor, workspace: str = "", provider: str = "", root: str = "") -> None:
        self._redactor = redactor
        self._root = root
        self._environment = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=self._visible,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters.update(words.FILTERS)
        self._environment.filters["real_rows"] = real_rows
        self._environment.filters["markup"] = Markup  # for pictures of ours, which hold texts escaped
        self._environment.globals.update(workspace=workspace, provider=provider, marks=MARKS, root=root)

    def part(self, template: str, values: Mapping[str, object]) -> str:
        """Render a part of a page that is the same for all its viewers."""
        return self._environment.get_template(template).render(values)

    def page(
        self, request: Request, template: str, values: Mapping[str, object], status: int = 200
    ) -> HTMLResponse:
        """Render a whole page for the visit of a request."""
        visit = request.scope["state"]["visit"]
        shared = {"visit": visit, "path": request.url.path.removeprefix(self._root)}
        return HTMLResponse(self.part(template, {**shared, **values}), status)

    def lead(self, path: str) -> Response:
        """Lead to another page."""
        return RedirectResponse(self._root + path, 303)

    def refusal(self, status: int, cause: str, next_step: str = "") -> Response:
        """Render why a request is not answered, and what to do next."""
        values = {"status": status, "cause": cause, "next_step": next_step, "visit": None, "path": ""}
        return HTMLResponse(self.part("refusal.html", values), status)

    def too_many(self, wait_s: int) -> Response:
        """Render that somebody has tried too often."""
        answer = self.refusal(429, "too many attempts in a minute", f"try again in {wait_s} s")
        answer.headers["Retry-After"] = str(wait_s)
        return answer

    def lead_on(self, target: str) -> Response:
        """Render a page that leads on: a redirect of what another site began would bring no Strict cookie."""
        return HTMLResponse(self.part("lead_on.html", {"visit": None, "path": "", "target": target}))

    def answer_link(self, person: str, target: str) -> Response:
        """Ask whether the question of a link is to be opened, in the name of its person."""
        values = {"visit": None, "path": "", "person": person, "target": target}
        return HTMLResponse(self.part("answer_link.html", values))

    def other_person(self, visit: Visit, person: str, ticket: str) -> Response:
        """Ask whether somebody who has signed in goes on as the person of a link."""
        values = {"visit": visit, "path": "", "person": person, "ticket": ticket}
        return HTMLResponse(self.part("other_person.html", values))

    def sign_in(self, status: int, problem: str = "") -> Response:
        """Render the ways to sign in."""
        values = {"problem": problem, "visit": None, "path": ""}
        return HTMLResponse(self.part("sign_in.html", values), status)

    def _visible(self, value: object) -> object:
        """Make a value a text that shows all that is in it; markup of ours stays as it is."""
        if isinstance(value, Markup):
            return value
        return "" if value is None else safe(self._redactor.text(str(value)))
