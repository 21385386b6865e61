"""The world that calls are made in: the workspace behind its jail, the network, memory, and the policy."""

from __future__ import annotations

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.chains.run_chains import Chains
from planwright.capabilities.policy.file import Policy
from planwright.capabilities.registry import Registry
from planwright.capabilities.reserved_paths import named_files
from planwright.capabilities.trust.workspace_modules import module_homes
from planwright.records.stores import Stores
from planwright.security.egress.network import Network
from planwright.security.jail import READ_ONLY, Jail
from planwright.security.key_files import ReadableFiles
from planwright.security.redaction.redactor import Redactor
from planwright.settings.settings import Settings


def open_call_context(
    settings: Settings, stores: Stores, registry: Registry, policy: Policy, redactor: Redactor
) -> CallContext:
    """Put together what every call of an agent may see; each call is bound to its run and key later."""
    return CallContext(
        settings,
        workspace_jail(settings),
        stores.memories,
        stores.time.now,
        stores.whole_results,
        stores.file_versions,
        chains=Chains(registry, stores.chains),
        delegations=stores.delegations,
        tool_answers=stores.tool_answers,
        network=Network(settings.egress),
        policy=policy,
        redactor=redactor,
    )


def workspace_jail(settings: Settings) -> Jail:
    """Jail file capabilities in the workspace, outside the program's own store; its code is read-only.

    Keys, and what settings name, are not read unless they are listed. Its code are the listed modules, and
    what they import from beside them.
    """
    workspace, store = settings.workspace.resolve(), settings.store_folder.resolve()
    inside = store.is_relative_to(workspace) and store != workspace
    hidden = (store.relative_to(workspace).as_posix(),) if inside else ()
    modules = settings.capabilities.modules
    code = {*(name.partition(".")[0] for name in modules), *module_homes(workspace, modules)}
    named = [(path.parts, path.named_by) for path in named_files(settings)]
    reading = ReadableFiles(settings.files.readable, named)
    return Jail(workspace, hidden, (*READ_ONLY, *code, *(f"{name}.py" for name in code)), reading)
