"""Where the page is served, and how it is kept from being read on the way there."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator


def _address(value: str) -> str:
    return str(ipaddress.ip_address(value))


Address = Annotated[str, AfterValidator(_address)]


class WebSettings(BaseModel):
    """An address beside this machine's own needs people who are known, and TLS or a proxy that has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: Address = "127.0.0.1"
    """IP address to listen at."""
    port: int | None = Field(None, ge=1, le=65535)
    """Port to listen at; None for 2025, or any that is free where that is taken."""
    certificate: Path | None = None
    """File with the certificate chain (PEM); None for no TLS."""
    key: Path | None = None
    """File with the key of the certificate (PEM); None for no TLS."""
    proxies: tuple[Address, ...] = ()
    """IP addresses of reverse proxies with TLS. Nobody else is let in then, and what they say of the sender
    counts."""

    @model_validator(mode="after")
    def _both_files(self) -> WebSettings:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("TLS needs both certificate and key")
        return self

    @property
    def on_this_machine(self) -> bool:
        """Whether nobody but this machine can reach the page."""
        return ipaddress.ip_address(self.host).is_loopback and not self.proxies
