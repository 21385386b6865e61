"""The command that approves: what waits at one gate, or all that calls a capability."""

from __future__ import annotations

import typer

from planwright.cli.commands.option_groups import ApprovalTerms, BulkTerms, Interaction, grouped
from planwright.cli.commands.options import HERE, Folder, Which


@grouped
def approve(
    which: Which = None,
    workspace: Folder = HERE,
    *,
    terms: ApprovalTerms,
    bulk: BulkTerms,
    interaction: Interaction,
) -> None:
    """Approve what waits at a gate, and go on; or, with --all, at each gate that calls a capability."""
    from planwright.cli.actions.allow_rules import approval_scope_of
    from planwright.cli.actions.approving import BulkRequest, approve_all
    from planwright.cli.session.drive import Terminal, answer_gate

    terminal = Terminal(interaction.json, interaction.no_input, interaction.verbose)
    if capability := checked_capability(which, terms, bulk):
        request = BulkRequest(capability, bulk.tenant or "*", bulk.yes)
        raise typer.Exit(approve_all(request, workspace, terminal))
    where, tools = terms.where or [], terms.tool or []
    scope = approval_scope_of(
        terms.remember, where, tools, unseen=terms.unseen, when=terms.when, most=terms.most
    )
    decision = {"type": "approve", "plan_hash": terms.plan_hash, **scope}
    raise typer.Exit(answer_gate(which, decision, workspace, terminal))


def checked_capability(which: str | None, terms: ApprovalTerms, bulk: BulkTerms) -> str:
    """Return the capability of a bulk approval, "" for a single one. Raises BadParameter for a mix."""
    if not bulk.all_:
        if bulk != BulkTerms():
            raise typer.BadParameter("--capability, --tenant and --yes go with --all")
        return ""
    if not bulk.capability:
        raise typer.BadParameter("say which calls: planwright approve --all --capability NAME or 'GLOB'")
    if which is not None or terms != ApprovalTerms():
        raise typer.BadParameter("--all approves each gate for once: it takes no gate, hash or --remember")
    return bulk.capability
