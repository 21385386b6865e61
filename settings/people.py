"""The people that are known: what each may do, and how they sign in."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Right = Literal["request", "approve", "operate", "audit"]
EVERY_RIGHT: frozenset[Right] = frozenset(("request", "approve", "operate", "audit"))
LOOPBACK = ("127.0.0.1", "localhost", "::1")


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
    at gates and over effects in doubt. Who may `operate` cancels, resumes and undoes runs. Who may `audit`
    or `operate` reads who has signed in. Everybody reads the runs of their tenant.
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
    claim: Literal["email", "sub", "preferred_username"] = "email"
    """Claim of the ID token that is compared with the `identity` of people."""
