"""The mail server that `mail.send` and messages to people go through, and whom messages go to."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from planwright.settings.providers import Address

NoticeKind = Literal[
    "gate_opened", "gate_climbed", "gate_closing", "effect_in_doubt", "run_failed", "schedule_answered"
]
NoticeWay = Literal["mail", "webhook", "apprise"]


class MailSettings(BaseModel):
    """One SMTP server; without a host, mail can be drafted but not sent.

    `starttls` (RFC 3207) and `tls` (RFC 8314) check the certificate, against `ca_file` if one is named.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    host: str = ""
    """Name of the SMTP server; "" where mail is not sent."""
    port: int | None = Field(None, ge=1, le=65535)
    """Port of the server; None for the usual one of its security."""
    security: Literal["starttls", "tls", "none"] = "starttls"
    """How the connection is secured: `starttls`, `tls` from the start, or `none`."""
    user: str | None = None
    """Name to log in with; None where the server asks for none."""
    password: SecretStr | None = None
    """Password to log in with, written in the settings; None for that of `password_env`."""
    password_env: str | None = None
    """Variable of the environment that holds the password; None for none."""
    sender: str = Field("", alias="from")
    """Address that mail comes from; written as `from` in the settings."""
    ca_file: str | None = None
    """File of certificates that the server's is checked against; None for those of the system."""
    timeout_s: float = Field(30, gt=0)
    """Seconds that one answer of the server may take."""

    @property
    def port_in_use(self) -> int:
        """The port, or the usual one for how the connection is secured."""
        return self.port or {"starttls": 587, "tls": 465, "none": 25}[self.security]

    @model_validator(mode="after")
    def _no_password_in_the_clear(self) -> MailSettings:
        if self.security == "none" and self.user:
            raise ValueError("a password is sent over tls or starttls only")
        return self


class NoticeAddresses(BaseModel):
    """Where messages go; nowhere where all are left out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mail: tuple[str, ...] = Field((), max_length=50)
    """Mail addresses; messages go through the server of `[mail]`."""
    webhook: Address | None = None
    """Address that messages are posted to as JSON; None for none."""
    apprise: tuple[SecretStr, ...] = Field((), max_length=50)
    """Addresses, with keys, as Apprise spells them (Slack, Teams, push, desktop); of the extra `notify`."""

    @property
    def ways(self) -> tuple[NoticeWay, ...]:
        """The ways that messages go."""
        return tuple(way for way in get_args(NoticeWay) if getattr(self, way))


class DeciderAddresses(NoticeAddresses):
    """Where messages go to those who decide."""

    links: dict[str, str] = Field({}, max_length=50)
    """Mail addresses by the names that sign decisions: each such mail has a link that answers its gate once.

    Whoever reads the mail can answer, without a sign-in.
    """

    @property
    def ways(self) -> tuple[NoticeWay, ...]:
        """The ways that messages go."""
        mailed: tuple[NoticeWay, ...] = ("mail",) if self.links and not self.mail else ()
        return (*mailed, *super().ways)


class TenantAddresses(DeciderAddresses):
    """Where messages of one tenant go."""

    next: DeciderAddresses = DeciderAddresses()
    """Where a gate goes that the people before have not decided after `climb_s`."""


class NotifySettings(TenantAddresses):
    """Messages to people; the addresses here are those of the tenant `default`."""

    events: frozenset[NoticeKind] = frozenset(get_args(NoticeKind))
    """What is told: a gate opens, climbs or is near its end, an effect is in doubt, a run has failed."""
    climb_s: float = Field(3600, gt=0)
    """Seconds after which an open gate goes to those under `next`."""
    closing_s: float = Field(3600, gt=0)
    """Seconds before its end at which a gate is near it; never more than a quarter of its time."""
    page: Address | None = None
    """Address that people reach the page by; messages link to the card there. None for no link."""
    tenants: dict[str, TenantAddresses] = {}
    """Where messages of other tenants go, by name; those of a tenant that is not here go nowhere."""

    def addresses(self, kind: NoticeKind, tenant: str) -> DeciderAddresses:
        """Find where messages of a kind go that are of a tenant."""
        own = self.tenants.get(tenant, self if tenant == "default" else TenantAddresses())
        return own.next if kind == "gate_climbed" else own
