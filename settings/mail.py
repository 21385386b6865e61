"""The settings of the server that `mail.send` hands its messages to."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator


class Mail(BaseModel):
    """One SMTP server; without a host, mail can be drafted but not sent.

    `starttls` (RFC 3207) and `tls` (RFC 8314) check the certificate, against `ca_file` if one is named.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    host: str = ""
    port: int | None = Field(None, ge=1, le=65535)
    security: Literal["starttls", "tls", "none"] = "starttls"
    user: str | None = None
    password: SecretStr | None = None
    password_env: str | None = None
    sender: str = Field("", alias="from")
    ca_file: str | None = None
    timeout_s: float = Field(30, gt=0)

    @property
    def port_in_use(self) -> int:
        """The port, or the usual one for how the connection is secured."""
        return self.port or {"starttls": 587, "tls": 465, "none": 25}[self.security]

    @model_validator(mode="after")
    def _no_password_in_the_clear(self) -> Mail:
        if self.security == "none" and self.user:
            raise ValueError("a password is sent over tls or starttls only")
        return self
