"""The chains of runs: made for one run, and there beside the registry for that run only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from planwright.capabilities.call_context import CallContext, MadeChain, RunChains
from planwright.capabilities.chains.compose import as_capability, checked_chain
from planwright.capabilities.contract import Capability
from planwright.capabilities.registry import Registry
from planwright.domain.chain import Chain
from planwright.domain.errors import CapabilityForbidden, CapabilityRejected
from planwright.domain.verified_step import VerifiedStep
from planwright.records.chains import CreatedChains
from planwright.settings.profile import RunProfile


class Chains:
    """The chains of each run, made of the capabilities of one registry."""

    def __init__(self, registry: Registry, store: CreatedChains) -> None:
        self._registry = registry
        self._store = store

    async def of_run(self, run_id: str) -> Sequence[Chain]:
        """List the chains that a run has made."""
        return await self._store.of_run(run_id)

    async def has(self, run_id: str, chain: Chain) -> bool:
        """Say whether a run has made exactly this chain."""
        return any(own.hash == chain.hash for own in await self.of_run(run_id))

    async def make(self, definition: Mapping[str, JsonValue], call: CallContext) -> MadeChain:
        """Check a definition once more and store it for the run of a call. Raises CapabilityRejected."""
        chain = checked_chain(definition, self._registry, self._registry, call)
        capability = as_capability(chain, self._registry)
        await self._store.make(call.run_id, call.tenant, chain, call.now(), call.lease)
        return MadeChain(chain, capability.mode, capability.risk)


def called_capability(
    registry: Registry, name: str, checked: VerifiedStep, profile: RunProfile
) -> Capability:
    """Look up what a verified step calls, by what its profile permits. Raises CapabilityRejected."""
    allowed = registry.within(profile)
    if checked.chain is not None and checked.chain.name == name:
        return as_capability(checked.chain, allowed)
    if capability := allowed.get(name):
        return capability
    if allowed.withholds(name):
        raise CapabilityForbidden(allowed.why_withheld(name))
    raise CapabilityRejected(allowed.why_unknown(name))


async def allowed_in_run(
    registry: Registry, chains: RunChains | None, run_id: str, profile: RunProfile
) -> Registry:
    """Look up what a run may use: the registry as its profile narrows it, and the chains it has made.

    A chain is there as long as all its parts are, and no capability has its name by now.
    """
    allowed = registry.within(profile)
    own: Sequence[Chain] = () if chains is None else await chains.of_run(run_id)
    if not own:
        return allowed

    def beside() -> Registry:
        whole = (chain for chain in own if all(name in allowed for name in chain.needs))
        named = (chain for chain in whole if chain.name not in registry)
        return allowed.beside(as_capability(chain, allowed) for chain in named)

    return allowed.derived(tuple(chain.hash for chain in own), beside)
