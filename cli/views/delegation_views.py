"""Issue, list and revoke delegations from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import closing
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path

from planwright.capabilities.contract import Capability
from planwright.capabilities.registry import load_registry
from planwright.capabilities.tools.tool_servers import tool_servers
from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.commands.option_groups import DelegationTerms
from planwright.cli.views import rendering as views
from planwright.cli.views.open_store import now_of
from planwright.domain.errors import SetupError
from planwright.domain.plan import DELEGATE
from planwright.records.consent.delegations import Delegation, Delegations, Period, Reach
from planwright.security.credentials import login_name


def issue_delegation(names: list[str], terms: DelegationTerms, workspace: Path, as_json: bool) -> int:
    """Issue a delegation in the name of whoever is logged in.

    Raises SetupError for a name or pattern that covers no capability of mode `delegated`.
    """
    settings = load_trusted(workspace)
    modules = settings.capabilities
    with closing(tool_servers(settings).start_servers(settings)) as servers:
        more, absent = servers.capabilities, servers.absent
    registry = load_registry(settings.workspace, modules.modules, modules.prohibit, more, absent)
    covered = {name: covered_by(name, registry) for name in names}
    for name, capabilities in covered.items():
        if not capabilities:
            raise SetupError(
                f"{name} covers no capability of mode delegated",
                "see the modes: planwright capabilities; what is destructive cannot be delegated",
            )
    now, reached = now_of(settings), sorted({name for each in covered.values() for name in each})
    issued = Delegations(settings.store_folder).issue(
        Reach(names, {each.name: each.digest for each in registry if each.name in reached}),
        terms.max_risk,
        login_name(),
        Period(now, now + timedelta(hours=terms.hours)),
        tenant=terms.tenant,
        reason=terms.reason,
    )
    if as_json:
        print(issued.model_dump_json(indent=2))
        return 0
    print(
        f"{issued.id}: {', '.join(reached)}, risk up to {terms.max_risk}, until {_minute(issued.expires_at)}"
    )
    print(f"take it back: planwright delegations revoke {issued.id}")
    return 0


def covered_by(name: str, registry: Iterable[Capability]) -> list[str]:
    """Name the capabilities that a delegation by this name or pattern covers."""
    delegated = (
        capability.name
        for capability in registry
        if capability.mode == "delegated" and capability.name != DELEGATE
    )
    return [capability for capability in delegated if fnmatchcase(capability, name)]


def show_delegations(workspace: Path, as_json: bool) -> int:
    """List the delegations of a workspace, those that have expired among them."""
    settings = load_trusted(workspace)
    file = Delegations(settings.store_folder)
    delegations, now = file.read(), now_of(settings)
    if as_json:
        print(
            json.dumps(
                [delegation.model_dump(mode="json") for delegation in delegations],
                ensure_ascii=False,
                indent=2,
            )
        )
        return 0
    screen = views.console()
    if not delegations:
        screen.print("nothing is delegated. Delegate with: planwright delegations issue CAPABILITY")
        return 0
    for delegation in delegations:
        screen.print(views.label("delegated", f"{delegation.id}: {_line(delegation, now)}"))
        why = f": {delegation.reason}" if delegation.reason else ""
        by = f"issued by {delegation.issued_by} on {_minute(delegation.issued_at)}{why}"
        screen.print(views.label("", by, "dim"))
    screen.print(views.label("file", str(file.path), "dim"))
    return 0


def revoke_delegation(id_: str, workspace: Path) -> int:
    """Take a delegation out of the file."""
    revoked = Delegations(load_trusted(workspace).store_folder).revoke(id_)
    print(f"{', '.join(revoked.capabilities)} asks again")
    return 0


def _line(delegation: Delegation, now: datetime) -> str:
    state = "expired" if delegation.expires_at <= now else "until"
    tenant = "" if delegation.tenant == "default" else f", for {delegation.tenant}"
    covers = f"{', '.join(delegation.capabilities)}, risk up to {delegation.max_risk}{tenant}"
    return f"{covers}; {state} {_minute(delegation.expires_at)}"


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
