"""What LangGraph's server asks before it touches anything: who is it, and is it theirs?

A thread belongs to the tenant of its runs. Where it has none yet, its metadata say whose it is. A pair of
resource and action that has no rule here is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph_sdk import Auth

from planwright.checkpoints.thread_state.pruning import threads_with
from planwright.domain.errors import RunError
from planwright.graph.serving.requests import caller_of
from planwright.records.stores import Stores
from planwright.security.credentials import Caller, Credentials
from planwright.settings.server import Right
from planwright.store.queued_job import STATE

Request = dict[str, Any]
"""What a client sends to a route, by field."""
Filter = dict[str, Any]
"""What the metadata of an entry have to hold for a client to see it."""
WRITES = frozenset(("create", "update", "create_run"))
USER_KEY = "langgraph_auth_user"  # where the server puts who asks, in a run's `configurable`

MOST_METADATA = 64_000
NO_CRONS = (
    "this server runs no crons, for nobody asks when they run: put the request into [schedules] of"
    " planwright.toml, and let `planwright worker` run it"
)
INNER = "__pregel_"  # so begin the keys by which LangGraph calls a graph as a node, and ours of a run
SET_BY_SERVER = frozenset(("__pregel_node_finished", "__pregel_stream_messages_v2"))  # langgraph-api 0.16


def refuse_inner_keys(config: RunnableConfig | None) -> None:
    """Raise RunError for a config by which a client plays the graph that runs an agent as its node.

    From there answers come without a name. The server passes on any key of a run, a checkpoint or an
    assistant; a key beside `configurable` LangGraph moves into it.
    """
    named = {*(config or {}), *((config or {}).get("configurable") or {})}
    if inner := sorted(key for key in named - SET_BY_SERVER if str(key).startswith(INNER)):
        raise RunError(f"{', '.join(inner)}: no client may set this", "leave it out of config and checkpoint")


def caller_in(configurable: Mapping[str, Any]) -> Caller | None:
    """Read who asks out of the config of a run; the server lets no client write there."""
    user = configurable.get(USER_KEY)
    return Caller(user["identity"], user["tenant"], frozenset(user["rights"])) if user else None


def rights_for(action: str, value: Request, resource: str = "threads") -> tuple[Right, ...]:
    """List the rights of which a caller needs one; none for what everybody who is known may do."""
    if action in ("read", "search", "list_namespaces", "get"):
        return ()
    if action != "create_run":
        answers = action == "create" and resource == "threads"  # whoever answers on a thread may have made it
        return ("request", "approve", "operate") if answers else ("request", "operate")
    sent = value.get("kwargs") or {}
    command = sent.get("command") or {}
    if command.get("resume") is not None:
        return ("approve",)
    begins = not command and sent.get("input") is not None  # the server drops an input beside a command
    return ("request",) if begins else ("request", "operate")


def build_auth(credentials: Credentials, stores: Stores) -> Auth:
    """Build what `auth` in `langgraph.json` names."""
    auth = Auth()

    @auth.authenticate
    async def authenticate(scope: dict[str, Any]) -> Auth.types.MinimalUserDict:
        caller = caller_of(scope, credentials)
        if caller is None:
            raise Auth.exceptions.HTTPException(status_code=401, detail="this is no token of this server")
        rights = sorted(caller.rights)
        return {"identity": caller.person, "tenant": caller.tenant, "rights": rights}  # type: ignore[typeddict-unknown-key]

    @auth.on
    async def nothing_else(ctx: Auth.types.AuthContext, value: object) -> bool:
        return False

    @auth.on.threads
    async def threads(ctx: Auth.types.AuthContext, value: Request) -> Filter | None:
        _check_right(ctx, value)
        return await _threads(ctx.user["tenant"], ctx.action, value, stores)

    @auth.on.assistants
    async def assistants(ctx: Auth.types.AuthContext, value: Request) -> Filter:
        _check_right(ctx, value)
        return _assistants(ctx.user["tenant"], ctx.action, value)

    @auth.on.crons
    async def crons(ctx: Auth.types.AuthContext, value: Request) -> Filter:
        _check_right(ctx, value)
        return _crons(ctx.user["tenant"], ctx.action)

    @auth.on.store
    async def store(ctx: Auth.types.AuthContext, value: Request) -> None:
        _check_right(ctx, value)
        value["namespace"] = in_store(ctx.user["tenant"], value.get("namespace"))

    return auth


def _check_right(ctx: Auth.types.AuthContext, value: Request) -> None:
    """Refuse a caller without the right that an action takes, and metadata that nobody will read."""
    needed, rights = rights_for(ctx.action, value, ctx.resource), ctx.user["rights"]
    if needed and not {*needed} & {*rights}:
        detail = f"this is for people who may {' or '.join(needed)}; you may {', '.join(rights)}"
        raise Auth.exceptions.HTTPException(status_code=403, detail=detail)
    config = (value.get("kwargs") or value).get("config") or {}
    if max(_size(value.get("metadata")), _size(config.get("metadata"))) > MOST_METADATA:
        detail = (
            f"metadata may be {MOST_METADATA:,} bytes of JSON: put what is longer into a message or a file"
        )
        raise Auth.exceptions.HTTPException(status_code=422, detail=detail)


def _size(metadata: object) -> int:
    """Count the bytes of metadata as JSON."""
    return len(json.dumps(metadata, default=str)) if metadata else 0


def _crons(tenant: str, action: str) -> Filter:
    """Refuse crons: nobody has asked when they run. A tenant may see and remove what it has of them."""
    if action in WRITES:
        raise Auth.exceptions.HTTPException(status_code=422, detail=NO_CRONS)
    return {"tenant": tenant}


def in_store(tenant: str, namespace: Sequence[str] | None) -> tuple[str, ...]:
    """Put a namespace of the server's store below the tenant's own, which is the first label of all.

    A label holds no dot, so a tenant's is spelled there as a URL spells what it cannot hold.
    """
    label, named = tenant.replace("%", "%25").replace(".", "%2E"), tuple(namespace or ())
    return named if named[:1] == (label,) else (label, *named)


async def _threads(tenant: str, action: str, value: Request, stores: Stores) -> Filter | None:
    """Let a tenant at its threads. The run rows decide; without any, the thread's metadata do."""
    named = [value["thread_id"]] if value.get("thread_id") else [*(value.get("thread_ids") or ())]
    owners = [await stores.runs.tenants(str(thread)) for thread in named]
    creates = action == "create" or value.get("if_not_exists") == "create"
    for thread, tenants in zip(named, owners, strict=True):
        if tenants - {tenant} or (creates and not tenants and not await _may_be(thread, tenant, stores)):
            raise Auth.exceptions.HTTPException(status_code=404, detail="there is no such thread")
    if action == "delete" and value.get("run_id"):
        await _check_run(str(value["run_id"]), str(value.get("thread_id")), stores)
    if action in WRITES and isinstance(value.get("metadata"), dict):
        value["metadata"]["tenant"] = tenant
    return None if named and all(owners) else {"tenant": tenant}


async def _may_be(thread: object, tenant: str, stores: Stores) -> bool:
    """Say whether a thread without runs is free, or a copy of a thread of this tenant.

    One of a user's own graph, whose agent has not begun yet, has checkpoints and names no run of ours.
    """
    at = {"thread_id": str(thread)}
    places = (at, {**at, "checkpoint_ns": ""})
    newest = [each for at in places async for each in stores.saver.alist({"configurable": at}, limit=1)]
    run = (
        await stores.runs.read(str(newest[-1].checkpoint["channel_values"].get("run_id"))) if newest else None
    )
    return not newest or (run is not None and run.tenant == tenant)


async def _check_run(run_id: str, thread_id: str, stores: Stores) -> None:
    """Refuse to delete a run of another thread: its checkpoints go by its id alone."""
    if await stores.database.read(lambda c: threads_with(c, run_id), behind=STATE) - {thread_id}:
        raise Auth.exceptions.HTTPException(status_code=404, detail="there is no such run on this thread")


def _assistants(tenant: str, action: str, value: Request) -> Filter:
    """Let a tenant at its own assistants, and read those that come with the server."""
    if action in WRITES and isinstance(value.get("metadata"), dict):
        value["metadata"].update(tenant=tenant, created_by="user")
    own: Filter = {"tenant": tenant}
    return {"$or": [own, {"created_by": "system"}]} if action in ("read", "search") else own
