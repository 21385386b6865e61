"""What a person decides about memories at the terminal; each change of memory is a run of one step."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from planwright.cli.session.asking import Approver, who
from planwright.cli.session.drive import follow
from planwright.cli.session.logs import load_logged
from planwright.cli.session.terminal import Terminal
from planwright.cli.views import rendering as views
from planwright.cli.views.memory_views import find_memory, find_proposal
from planwright.cli.views.run_views import find_run
from planwright.domain.hashing import same
from planwright.domain.memory_proposal import FORGET, WRITE
from planwright.domain.plan import PlanStep
from planwright.domain.run_context import RunContext
from planwright.graph.building import build_graph
from planwright.graph.entry.single_call import SingleCall, begin
from planwright.presentation.rows import Card, JsonObject
from planwright.records.records import open_records
from planwright.security.redaction.known_secrets import redactor_of
from planwright.settings.settings import Settings


def accept_proposal(id_: str, workspace: Path, tenant: str, terminal: Terminal) -> int:
    """Write a proposal to memory. Returns the exit code of the run that does."""
    settings = load_logged(workspace)
    proposal = find_proposal(settings, id_, tenant)
    args = {"text": proposal["text"], "tags": proposal["tags"]}
    step = PlanStep(id="remember", capability=WRITE, params=args, description=f"Remember what {id_} says")
    return _run(settings, step, f"Remember: {proposal['text']}", proposal["run_id"], tenant, terminal)


def forget_memory(id_: str, workspace: Path, tenant: str, terminal: Terminal) -> int:
    """Delete a memory. Returns the exit code of the run that does."""
    settings = load_logged(workspace)
    memory = find_memory(settings, id_, tenant)
    step = PlanStep(id="forget", capability=FORGET, params={"id": id_}, description=f"Forget {id_} for good")
    return _run(settings, step, f"Forget memory {id_}", memory["run_id"], tenant, terminal)


def reject_proposal(id_: str, workspace: Path, tenant: str) -> int:
    """Turn a proposal down."""
    settings = load_logged(workspace)
    proposal = find_proposal(settings, id_, tenant)
    records = open_records(settings.store_folder, redactor=redactor_of(settings), url=settings.store_url)
    try:
        asyncio.run(records.proposals.reject(id_, tenant, who(), records.time.now()))
    finally:
        records.close()
    print(f"{id_} is rejected and will not be proposed again: {views.safe(proposal['text'])}")
    return 0


def _run(
    settings: Settings, step: PlanStep, request: str, source: str, tenant: str, terminal: Terminal
) -> int:
    """Begin the run of a step, or go on with the one that is open, and approve exactly that step."""
    agent_id = json.loads(find_run(settings, source)["context"]).get("agent")
    ttl = settings.approval.plan_timeout_s if terminal.interactive else None
    context = RunContext(
        agent=agent_id,
        tenant=tenant,
        channel="cli",
        requested_by=who(),
        provider="embedded",
        gate_ttl_s=ttl,
    )
    agent = build_graph(settings)
    try:
        purpose = json.dumps([tenant, step.capability, step.params], sort_keys=True)
        call = SingleCall(step, request, source, purpose)
        thread = agent.loop.call(lambda: begin(agent.stores, call, context))
    finally:
        agent.close()
    return follow(settings, None, thread, RunContext(channel="cli"), terminal, approving(step))


def approving(step: PlanStep) -> Approver:
    """Answer gates for the person who asked for one step: yes to that, and to nothing else."""

    answered: set[str] = set()

    def approve(waiting: Card, terminal: Terminal) -> JsonObject:
        gate = waiting["gate_id"]
        if gate in answered or not is_about(waiting, step):  # it is another's turn: a quorum, another call
            raise EOFError  # as if nobody were there: the gate stays open, and how to answer it is said
        answered.add(gate)
        return {"type": "approve", "gate_id": gate, "plan_hash": waiting["plan_hash"], "decided_by": who()}

    return approve


def is_about(waiting: Card, step: PlanStep) -> bool:
    """Say whether a gate asks about one step, with its arguments, and about nothing beside it."""
    card = waiting["shown"]
    if waiting["kind"] == "plan":
        calls = [(entry["capability"], entry["params"]) for entry in card["steps"]]
        return same(calls, [(step.capability, step.params)])
    if waiting["kind"] != "step" or card.get("capability") != step.capability:
        return False
    args = card["args"]
    return all(name in args and same(args[name], value) for name, value in step.params.items())
