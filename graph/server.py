"""What the LangGraph server and Studio load (`langgraph.json`): the agent of a workspace, behind its doors.

The workspace is the folder the server was started in, or the one `PLANWRIGHT_WORKSPACE` names. Whoever
asks is known by a token (`security/credentials.py`): one of `[server.tokens]`, or, on this machine, that of
this start.
"""

from __future__ import annotations

import logging
import secrets
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, Interrupt, StateSnapshot, StateUpdate

from planwright.approvals.answers.binding import signed
from planwright.capabilities.trust.guard import load_trusted
from planwright.checkpoints.saver import Saver
from planwright.domain.errors import RunError, SetupError
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph, log_problems
from planwright.graph.entry.checks import (
    check_tenant,
    not_begun,
    read_messages,
    read_state,
    thread_of,
    without_checkpoint,
)
from planwright.graph.serving.auth import build_auth, caller_in, refuse_inner_keys
from planwright.graph.serving.visible_gates import visible_chunks, visible_state
from planwright.graph.serving.visible_history import visible_history
from planwright.records.ownership.cancelling import cancel
from planwright.security.credentials import Caller, read_credentials
from planwright.settings.server import START_TOKEN, WORKSPACE
from planwright.settings.settings import Settings, from_environment
from planwright.store.private_files import alone_in, private_folder, read_private, replace_private
from planwright.store.store_origin import believed, trust_own

TOKEN_FILE = "server.token"
TOKEN_LENGTH = 43  # 32 bytes, as `secrets.token_urlsafe` spells them
SERVER_LISTS = ".langgraph_api"  # where the development server keeps its lists, under its own folder
_LOG = logging.getLogger("planwright.graph")
BY = "a new message"  # who ends a stopped run
PREFIXES = ("MOUNT_PREFIX", "LANGGRAPH_MOUNT_PREFIX")


class ServedAgent(Agent):
    """An agent behind the server's API: who asks, and for which tenant, is what their token says.

    The server runs with durability `async` unless its client says otherwise; here an effect has
    to be on record before it happens, so every run is `sync`.
    """

    def astream(
        self,
        input: object,
        config: RunnableConfig | None = None,
        *,
        context: object = None,
        durability: object = None,
        **kwargs: Any,
    ) -> AsyncGenerator[Any, None]:
        """Stream a run or an answer that came through the server.

        Raises RunError for another tenant than the caller's, and for a config that is not for a client to
        write; GateError for an answer in another's name.
        """
        refuse_inner_keys(config)
        caller = caller_in((config or {}).get("configurable", {}))
        if caller is not None:
            context = _own(context, caller)
            if isinstance(input, Command):
                input = replace(input, resume=signed(input.resume, caller.person))
            return self._astream_ready(input, config or {}, context, **kwargs)
        if input is not None:  # without input it is `acancel`, which leads a run to its end
            raise SetupError("nobody is known to have asked", "send the token of this server")
        return super().astream(input, config, context=context, durability="sync", **kwargs)

    async def aget_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """Read what pages see of a state. Raises RunError for a config that is not for a client to write."""
        refuse_inner_keys(config)
        return visible_state(await super().aget_state(config, subgraphs=subgraphs))

    async def aget_state_history(
        self,
        config: RunnableConfig,
        *,
        filter: dict[str, object] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[StateSnapshot]:
        """Read what pages are shown of older states. Raises RunError as `aget_state` does."""
        refuse_inner_keys(config)
        every = super().aget_state_history(config, filter=filter, before=before)
        for state in await visible_history(every, limit):
            yield visible_state(state)

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Change the state of a thread; `aupdate_state` does it through this. Raises RunError, too."""
        refuse_inner_keys(config)
        return await super().abulk_update_state(config, supersteps)

    def _caller(self, config: RunnableConfig) -> str:
        """Name the person whose token came with a call."""
        caller = caller_in(config.get("configurable", {}))
        return caller.person if caller is not None else "server"

    async def _astream_ready(
        self, entry: object, config: RunnableConfig, context: object, **options: Any
    ) -> AsyncGenerator[object, None]:
        """Stream what came in once its thread can take it."""
        thread = thread_of(config)
        async with self.door.telling_faults(entry, thread):
            if entry is None or isinstance(entry, Command):
                entry, config = await adopt_copy(self, entry, config, context)
            else:
                await make_room(self, entry, thread, context)
        stream = super().astream(entry, config, context=context, durability="sync", **options)
        async with aclosing(stream), aclosing(visible_chunks(stream)) as chunks:
            async for chunk in chunks:
                yield chunk


async def make_room(agent: Agent, message: object, thread_id: str, context: object) -> None:
    """End the run before a new message: one that was stopped, or whose thread was deleted or rolled back.

    One that waits for a decision, is queued or paused, or that somebody works on, stays: the door refuses the
    message. Raises SetupError for a message that cannot begin a run and RunError for another tenant; then
    nothing ends.
    """
    run = await agent.stores.runs.latest(thread_id)
    if run is None or run.ended or run.status in ("queued", "paused"):
        return
    check_tenant(run, context)
    read_messages(message)
    if agent.stores.leases.is_leased(run):
        return
    if not_begun(run, await read_state(agent, _config(thread_id))):
        await cancel(agent.stores, run.run_id, BY)
    elif not await agent.stores.gates.of_thread(thread_id):
        await agent.acancel(thread_id, BY)


async def adopt_copy(
    agent: Agent, entry: Command[str] | None, config: RunnableConfig, context: object
) -> tuple[Command[str] | None, RunnableConfig]:
    """Make a run of a copied thread that waits: a fork of the run it was copied from, with its own gates.

    Returns the entry and the config that mean the fork; those that came where the thread is no such copy.
    Raises RunError when the fork asks for something else than the copy shows, or for several things, in an
    order of its own: it waits for its own answer.
    """
    thread_id = thread_of(config)
    if await agent.stores.runs.latest(thread_id):
        return entry, config
    copied = await read_state(agent, _config(thread_id))
    if not copied.next or not copied.values.get("run_id"):
        return entry, config
    source = await agent.stores.forks.run_named(str(copied.values["run_id"]))
    check_tenant(source, context)
    await agent.stores.saver.adelete_thread(thread_id)
    await agent.afork(source.run_id, thread_id=thread_id, context=context)
    await agent.ainvoke(None, _config(thread_id))
    fork = await read_state(agent, _config(thread_id))
    return _for_fork(entry, copied.interrupts, fork.interrupts, thread_id), without_checkpoint(config)


def _for_fork(
    entry: Command[str] | None, copied: Sequence[Interrupt], offered: Sequence[Interrupt], thread_id: str
) -> Command[str] | None:
    """Turn an answer to what a copy shows into one to what its fork asks."""
    if entry is None:
        return None
    again = f"thread {thread_id} is a copy, and begins its plan anew"
    if [_question(value) for value in copied] != [_question(value) for value in offered]:
        raise RunError(f"{again}: it asks for something else now", "read what it asks, then answer that")
    ids = {old.id: new.id for old, new in zip(copied, offered, strict=True)}
    if isinstance(entry.resume, dict) and entry.resume.keys() <= ids.keys():
        return replace(entry, resume={ids[id_]: answer for id_, answer in entry.resume.items()})
    if len(offered) > 1:
        raise RunError(f"{again}: its gates are others", "read what it asks, then answer that")
    return entry


def _question(interrupt: Interrupt) -> object:
    """Read what a person is asked to let happen: of a plan its hash, which leaves out what a run spent."""
    value = interrupt.value
    if not isinstance(value, Mapping):
        return value
    plan = (value.get("kind"), value.get("plan_hash"))
    return plan if value.get("kind") == "plan" else (*plan, value.get("action_requests"))


def _config(thread_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id}}


def _own(context: Any, caller: Caller) -> dict[str, object]:
    """Make the options of a run the caller's own."""
    options, own = dict(context or {}), {"tenant": caller.tenant, "requested_by": caller.person}
    for name, value in own.items():
        if options.get(name, value) != value:
            raise RunError(f"the {name} of a run is that of the token: {value}", f"leave {name} out")
    return {**options, **own, "channel": "server"}


def _start_token(settings: Settings) -> str:
    """Take the token of this start, or make one for those who can read the store's files.

    One that is there stays: another server of this workspace may be running with it.
    """
    if handed := from_environment(START_TOKEN):
        return handed
    path = settings.store_folder / TOKEN_FILE
    try:
        with alone_in(path.parent):
            token = read_private(path)
            if len(token) < TOKEN_LENGTH:
                token = secrets.token_urlsafe(32)
                trust_own(path.parent, believed(path.name, token.encode()))
                replace_private(path, token)
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}", "make its folder writable") from error
    _LOG.warning("the token of this start, for this machine, is in %s", path)
    return token


def _close_import_path(workspace: Path) -> None:
    """Take the workspace, and the folder of the server, off the import path: what a run writes is data.

    `langgraph dev` puts the folder it is started in there (langgraph_cli 0.4.40, `dev`).
    """
    closed = {workspace.resolve(), Path.cwd().resolve()}
    if any(entry and Path(entry).resolve() == workspace.resolve() for entry in sys.path):
        _LOG.warning("%s was on the import path until now; planwright studio never puts it there", workspace)
    sys.path[:] = [entry for entry in sys.path if entry and Path(entry).resolve() not in closed]


def _open(settings: Settings) -> Agent:
    if any(map(from_environment, PREFIXES)):
        raise SetupError(f"{' and '.join(PREFIXES)} put routes outside of the doors", "unset them")
    private_folder(Path(SERVER_LISTS))
    _close_import_path(settings.workspace)
    agent = build_graph(settings)
    log_problems(agent)
    _close_import_path(settings.workspace)  # again: the registry loads modules of capabilities from there
    return agent


def _served(agent: Agent) -> Agent:
    """Put an agent behind the API; the page in the same process has the agent itself."""
    served = copy(agent)
    served.__class__ = ServedAgent
    return served


settings = load_trusted(from_environment(WORKSPACE) or ".")
credentials = read_credentials(settings, _start_token(settings))
agent = _open(settings)
graph = _served(agent)
auth = build_auth(credentials, agent.stores)


def saver() -> Saver:
    """Lend the server the workspace's own saver, so that it shares threads with terminal and Python."""
    return agent.stores.saver
