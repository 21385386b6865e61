"""The settings of the server that `mail.send` hands its messages to."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator


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
