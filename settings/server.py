"""Who may come in at the server and the page, by which credentials, from where, and what they may do."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

# What `planwright studio` hands to the server it starts.
START_TOKEN = "PLANWRIGHT_START_TOKEN"
WORKSPACE = "PLANWRIGHT_WORKSPACE"
STUDIO_ORIGINS = ("https://smith.langchain.com", "https://eu.smith.langchain.com")
Right = Literal["request", "approve", "operate", "audit"]
EVERY_RIGHT: frozenset[Right] = frozenset(("request", "approve", "operate", "audit"))
LOOPBACK = ("127.0.0.1", "localhost", "::1")


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


def _issuer(value: str) -> str:
    """Take an issuer as its provider spells it: tokens have to name it letter by letter."""
    parts = urlsplit(value)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise ValueError("an issuer is https://…; http:// is for this machine alone")
    if not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError("an issuer is https://name, with a path at most")
    return value


class PersonSettings(BaseModel):
    """One person: the name that decisions are signed with, a tenant, and what the person may do in it.

    Who may `request` begins runs, answers their questions, forks and cancels them. Who may `approve` decides
    at gates and over effects in doubt. Who may `operate` cancels, pauses, extends, resumes and undoes runs.
    Who may `audit` or `operate` reads settings, and who has signed in. Everybody reads the runs of their
    tenant.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    identity: str = Field(min_length=1, max_length=200)
    """What the claim of `[sign_in]` says of this person, such as an address."""
    name: str = Field("", max_length=200)
    """Whose name decisions are signed with; "" for the identity."""
    tenant: str = Field("default", min_length=1)
    """Whose ledger, budgets, memory and threads the person works with."""
    rights: Annotated[frozenset[Right], Field(min_length=1)]
    """What the person may do."""


class SignInSettings(BaseModel):
    """The OpenID provider where people sign in (OpenID Connect Core 1.0); none where `issuer` is empty.

    `claim` is what tells people apart. `email` counts only where the provider has verified it; `sub` never
    changes, and is what providers ask to go by.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: Annotated[str, AfterValidator(lambda value: value and _issuer(value))] = ""
    """Address of the provider, as its tokens name it; "" for none."""
    client_id: str = ""
    """Name that the provider knows the page by."""
    client_secret_env: str = ""
    """Variable of the environment with the secret of the page; "" for a public client."""
    claim: Literal["email", "sub"] = "email"
    """Claim of the ID token that is compared with the `identity` of people."""


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
