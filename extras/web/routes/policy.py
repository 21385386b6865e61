"""The policy: its rules, a tester that makes no call, and what a policy says of a run that has ended."""

from __future__ import annotations

import asyncio
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from planwright.capabilities.policy.check import check_policy
from planwright.capabilities.policy.explain import call_ruling, rule_rows, ruling_context
from planwright.capabilities.policy.file import load_policy, read_policy
from planwright.domain.errors import PlanwrightError, SetupError
from planwright.extras.audit.under_policy import PolicyReplay, prepare_replay
from planwright.extras.web.forms import FilledForm, field, form_route, page_route
from planwright.extras.web.parts import shared, visitor_of
from planwright.extras.web.view_models.policy_page import read_arguments
from planwright.settings.profile import find_agent

TYPED = Path("typed.toml")  # where the rules of a policy that was typed stand
MOST_CHARACTERS = 100_000


async def serve_policy(request: Request) -> Response:
    """Show the rules of the workspace, and what they answer to the call that is described."""
    parts, query = shared(request), request.query_params
    wanted = {name: query.get(name, "") for name in ("capability", "args", "agent", "tainted")}
    policy, registry = load_policy(parts.settings.workspace), parts.agent.door.parts.registry
    ruling, error = None, None
    try:
        if wanted["capability"]:
            find_agent(parts.settings, wanted["agent"] or None)
            context = ruling_context(parts.settings, parts.agent.stores, policy).on_behalf_of(
                visitor_of(request).tenant, wanted["agent"], tainted=wanted["tainted"] == "yes"
            )
            capability, args = registry.require(wanted["capability"]), read_arguments(wanted["args"])
            ruling = call_ruling(capability, args, context, parts.settings.approval)
    except PlanwrightError as problem:
        error = problem
    values = {
        "policy": policy,
        "changed": policy.hash != parts.agent.door.parts.versions["policy"],
        "rules": rule_rows(policy, registry),
        "wanted": wanted,
        "names": sorted(registry.names),
        "agents": sorted(parts.settings.agents),
        "ruling": ruling,
        "error": error,
    }
    return parts.pages.page(request, "policy.html", values, 409 if error else 200)


async def serve_policy_replay(request: Request) -> Response:
    """Show the policy of the workspace, to be changed and held against a run."""
    policy = load_policy(shared(request).settings.workspace)
    return await _replay_page(request, policy.path.read_text("utf-8"), 200)


async def take_policy_replay(request: Request, form: FilledForm) -> Response:
    """Say what a policy would have answered to each call of a run; nothing is called or recorded."""
    return await _replay_page(request, field(form, "policy").replace("\r\n", "\n"), 200, judged=True)


async def _replay_page(request: Request, text: str, status: int, *, judged: bool = False) -> Response:
    parts, run = shared(request), await shared(request).run(request)
    calls: list[PolicyReplay] = []
    error: PlanwrightError | None = None
    registry, approval = parts.agent.door.parts.registry, parts.settings.approval
    try:
        if len(text) > MOST_CHARACTERS:
            raise SetupError(f"a policy has at most {MOST_CHARACTERS:,} characters", "write a shorter one")
        if judged:
            policy = read_policy(text, TYPED)
            check_policy(policy, registry)
            context = ruling_context(parts.settings, parts.agent.stores, policy)
            judge = await parts.agent.stores.database.read(
                lambda connection: prepare_replay(connection, run.run_id, registry, context, approval)
            )
            calls = await asyncio.to_thread(judge)  # the store has one thread for all reads of the process
    except PlanwrightError as problem:
        error, status = problem, 409
    values = {"run": run, "text": text, "calls": calls, "judged": judged, "error": error}
    return parts.pages.page(request, "policy_replay.html", values, status)


ROUTES: list[BaseRoute] = [
    page_route("/workspace/policy", serve_policy),
    page_route("/runs/{run_id}/policy", serve_policy_replay, "audit", "operate"),
    form_route("/runs/{run_id}/policy", take_policy_replay, "audit", "operate"),
]
