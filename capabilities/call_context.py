"""What a capability function gets besides its arguments, if it asks for it by annotation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

import httpx
from pydantic import JsonValue

from planwright.capabilities.policy.file import Policy, default_policy
from planwright.domain.chain import Chain
from planwright.domain.clock import Clock, utc_now
from planwright.domain.lease import Lease
from planwright.domain.risk import Mode, Risk
from planwright.records.consent.delegations import Delegations
from planwright.records.consent.tool_answers import ToolAnswers
from planwright.records.effects.file_versions import FileVersions
from planwright.records.memories import Memories
from planwright.records.whole_results import WholeResults
from planwright.security.egress.network import Network
from planwright.security.jail import Jail
from planwright.security.redaction.redactor import Redactor
from planwright.settings.settings import Settings


@dataclass(frozen=True)
class MadeChain:
    """A chain that a run has made, and the gravest of what its calls may do."""

    chain: Chain
    """Its definition."""
    mode: Mode
    """Gravest mode of its calls."""
    risk: Risk
    """Gravest risk of its calls."""


class RunChains(Protocol):
    """The chains that runs have made, and the making of new ones."""

    async def of_run(self, run_id: str) -> Sequence[Chain]:
        """List the chains that a run has made."""

    async def has(self, run_id: str, chain: Chain) -> bool:
        """Say whether a run has made exactly this chain."""

    async def make(self, definition: Mapping[str, JsonValue], call: CallContext) -> MadeChain:
        """Check a definition and store it for the run of a call. Raises CapabilityRejected."""


@dataclass(frozen=True)
class CallContext:
    """The world as one call may see it: its workspace, network, memory, clock and key."""

    settings: Settings
    """Settings of the workspace."""
    workspace: Jail
    """Files of the workspace, and nothing outside of it."""
    memories: Memories
    """What the tenant has had remembered."""
    clock: Clock = utc_now
    """Tells the time of day, in UTC."""
    whole_results: WholeResults | None = None
    """Large results of the run, whole; None outside of a run."""
    file_versions: FileVersions | None = None
    """Earlier versions of files that calls replaced; None where nothing stores them."""
    chains: RunChains | None = None
    """The chains that runs made; None where nothing stores them."""
    delegations: Delegations | None = None
    """What a person has delegated; None where nothing stores it."""
    tool_answers: ToolAnswers | None = None
    """What people have said that tools may do; None where nothing stores it."""
    tenant: str = "default"
    """Whose call it is."""
    run_id: str = ""
    """Id of the run that makes the call; "" outside of one."""
    idempotency_key: str = ""
    """Key that the receiver gets; the same whenever the same call is sent again."""
    lease: Lease | None = None
    """Right to write for the run; None outside of one."""
    answers: tuple[JsonValue, ...] = ()
    """What a person has answered to the questions of the call, in their order."""
    agent: str = ""
    """Name of the agent of the run; "" for none."""
    request: str = ""
    """What the user wrote on the thread; policy and consent look into it."""
    tainted: bool = False
    """Whether what others wrote was read before the call."""
    decided: tuple[str, ...] = ()
    """Decisions of the catalog that come before the call, by id."""
    policy: Policy = field(default_factory=default_policy)
    """Rules that decide over the call."""
    network: Network | None = None
    """Connections that may leave; None for those of the settings."""
    redactor: Redactor = field(default_factory=Redactor)
    """Hides known secrets in results and errors."""

    def now(self) -> datetime:
        """Read the clock, in UTC."""
        return self.clock()

    def http(self, timeout_s: float = 20) -> httpx.AsyncClient:
        """Open a client that reaches public addresses, and those of hosts in `egress.allow`; no others.

        It follows no redirects and reads no proxies from the environment. What it may not reach raises
        CapabilityForbidden, all else that goes wrong what httpx raises.
        """
        return self.reachable.client(timeout_s)

    @property
    def reachable(self) -> Network:
        """What a call may reach on the network."""
        return self.network or Network(self.settings.egress)

    def on_behalf_of(
        self,
        tenant: str,
        agent: str | None,
        request: str = "",
        *,
        tainted: bool = False,
        decided: tuple[str, ...] = (),
    ) -> CallContext:
        """Bind the context to whom the policy is asked about, what they wrote, and what came before."""
        bound = replace(self, tenant=tenant, agent=agent or "", request=request)
        return replace(bound, tainted=tainted, decided=decided)

    def for_call(
        self,
        tenant: str,
        run_id: str,
        key: str,
        lease: Lease | None = None,
        answers: tuple[JsonValue, ...] = (),
    ) -> CallContext:
        """Bind the context to one call."""
        bound = replace(self, tenant=tenant, run_id=run_id, idempotency_key=key)
        return replace(bound, lease=lease, answers=answers)
