"""The settings of the server: who may come in by which token, under which names, and from which web pages."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from planwright.settings.people import EVERY_RIGHT, Right

# What `planwright studio` hands to the server it starts.
START_TOKEN = "PLANWRIGHT_START_TOKEN"
WORKSPACE = "PLANWRIGHT_WORKSPACE"
STUDIO_ORIGINS = ("https://smith.langchain.com", "https://eu.smith.langchain.com")


def _origin(value: str) -> str:
    if not re.fullmatch(r"https?://[a-z0-9.-]+(:\d+)?", value):
        raise ValueError("an origin is https://name or https://name:port, in small letters, without a path")
    return value


def _host(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9.-]+(:\d+)?", value):
        raise ValueError("a host is a name in small letters, with its port if that is not 80 or 443")
    return value


class TokenSettings(BaseModel):
    """One token: whose it is, and either the variable that holds it or its SHA-256 (hexadecimal)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    person: str = Field("", max_length=200)
    """Whose token it is, as decisions are signed; "" for the name of its table."""
    tenant: str = Field("default", min_length=1)
    """Whose ledger, budgets, memory and threads it opens."""
    token_env: str = ""
    """Variable of the environment that holds the token; "" where `sha256` is given."""
    sha256: str = Field("", pattern=r"^([0-9a-f]{64})?$")
    """SHA-256 of the token, 64 hex digits; "" where `token_env` is given."""
    rights: Annotated[frozenset[Right], Field(min_length=1)] = EVERY_RIGHT
    """What whoever has the token may do."""

    @model_validator(mode="after")
    def _one_source(self) -> TokenSettings:
        if bool(self.token_env) == bool(self.sha256):
            raise ValueError("name either token_env or sha256")
        return self


TokenName = Annotated[str, Field(pattern=r"^[\w-]{1,64}$")]


class ServerSettings(BaseModel):
    """What the LangGraph server lets in; on this machine the token of its start does, too.

    `hosts` are names it is reached by beside those of the loopback interface (RFC 9110, Host), `origins` the
    web pages that may use it (RFC 6454).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tokens: dict[TokenName, TokenSettings] = {}
    """Tokens that are let in, by a name for people."""
    hosts: tuple[Annotated[str, AfterValidator(_host)], ...] = ()
    """Host names it is reached by, beside those of this machine."""
    origins: tuple[Annotated[str, AfterValidator(_origin)], ...] = STUDIO_ORIGINS
    """Origins of the web pages that may use it."""
