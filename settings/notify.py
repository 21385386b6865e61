"""Whom to tell that a decision waits, that an effect is in doubt, and that a run has failed."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from planwright.settings.providers import Address

NoticeKind = Literal["gate_opened", "gate_closing", "effect_in_doubt", "run_failed"]
NoticeWay = Literal["mail", "webhook"]


class NoticeAddresses(BaseModel):
    """Where messages of one tenant go; nowhere where both are left out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mail: tuple[str, ...] = Field((), max_length=50)
    """Mail addresses; messages go through the server of `[mail]`."""
    webhook: Address | None = None
    """Address that messages are posted to as JSON; None for none."""

    @property
    def ways(self) -> tuple[NoticeWay, ...]:
        """The ways that messages go."""
        ways: dict[NoticeWay, object] = {"mail": self.mail, "webhook": self.webhook}
        return tuple(way for way, address in ways.items() if address)


class NotifySettings(NoticeAddresses):
    """Messages to people; `mail` and `webhook` are those of the tenant `default`."""

    events: frozenset[NoticeKind] = frozenset(get_args(NoticeKind))
    """What is told: a gate opens or is near its end, an effect is in doubt, a run has failed."""
    closing_s: float = Field(3600, gt=0)
    """Seconds before its end at which a gate is near it; never more than a quarter of its time."""
    page: Address | None = None
    """Address that people reach the page by; messages link to the card there. None for no link."""
    tenants: dict[str, NoticeAddresses] = {}
    """Where messages of other tenants go, by name; those of a tenant that is not here go nowhere."""

    def tenants_by(self, way: NoticeWay) -> frozenset[str]:
        """Name the tenants whose messages go a way."""
        every = {"default": self, **self.tenants}
        return frozenset(tenant for tenant, addresses in every.items() if way in addresses.ways)

    def of(self, tenant: str) -> NoticeAddresses:
        """Find where messages of a tenant go."""
        own = self if tenant == "default" else NoticeAddresses()
        return self.tenants.get(tenant, own)
