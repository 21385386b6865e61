"""Signing in at an OpenID provider: the authorization code flow with PKCE.

OpenID Connect Core 1.0, section 3.1; RFC 7636 (PKCE); RFC 9207 (who answers); RFC 8414 (metadata).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

import httpx

from planwright.domain.clock import Clock
from planwright.domain.errors import PlanwrightError
from planwright.settings.server import LOOPBACK, SignInSettings

MOST_BEGUN, LASTS_S, TIMEOUT_S, LEEWAY_S = 1_000, 600, 10, 60
ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]
"""Signatures that are taken: of none of them the page has the key that signs."""
Document = dict[str, Any]
"""A JSON object of the provider: its metadata, its keys, or the claims of an ID token."""
METADATA = "/.well-known/openid-configuration"


class SignInFailed(PlanwrightError):
    """The provider, or the way back from it, names nobody. Next: begin to sign in again."""


@dataclass(frozen=True)
class Begun:
    """A sign-in that has begun: what its answer has to fit."""

    state: str
    """Comes back in the address."""
    nonce: str
    """Comes back in the ID token."""
    verifier: str
    """Redeems the code (PKCE)."""
    at_s: float
    """When it began, in seconds since 1970."""


class OpenIdProvider:
    """The provider of a workspace, and the sign-ins that have begun and not ended."""

    def __init__(self, settings: SignInSettings, secret: str, clock: Clock) -> None:
        self._settings = settings
        self._secret = secret
        self._clock = clock
        self._begun: OrderedDict[str, Begun] = OrderedDict()

    async def begin(self, redirect_uri: str) -> tuple[str, str]:
        """Begin to sign in: where to send the browser, and what its cookie holds. Raises SignInFailed."""
        cookie = secrets.token_urlsafe(32)
        begun = Begun(
            secrets.token_urlsafe(32),
            secrets.token_urlsafe(32),
            secrets.token_urlsafe(32),
            self._clock().timestamp(),
        )
        async with httpx.AsyncClient(timeout=TIMEOUT_S) as client:
            metadata = await self._metadata(client)
        parameters = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "scope": "openid email",
            "redirect_uri": redirect_uri,
            "state": begun.state,
            "nonce": begun.nonce,
            "code_challenge": _challenge(begun.verifier),
            "code_challenge_method": "S256",
        }
        url = _endpoint(metadata, "authorization_endpoint").copy_merge_params(parameters)
        self._begun[cookie] = begun
        while len(self._begun) > MOST_BEGUN:
            self._begun.popitem(last=False)
        return str(url), cookie

    def knows(self, state: str) -> bool:
        """Say whether a sign-in that has begun waits for an answer with this state."""
        states = [begun.state for begun in self._begun.values()]
        return any(hmac.compare_digest(known.encode(), state.encode()) for known in states)

    async def identity(self, cookie: str, answer: Mapping[str, str], redirect_uri: str) -> str:
        """Redeem what the provider has sent back with a browser, once, and say who it is.

        Raises SignInFailed where any part of it does not fit what was begun with that browser.
        """
        begun = self._begun.pop(cookie, None)
        if begun is None or self._clock().timestamp() - begun.at_s > LASTS_S:
            raise _failed("this sign-in was not begun here, or too long ago")
        if not hmac.compare_digest(begun.state.encode(), answer.get("state", "").encode()):
            raise _failed("the answer belongs to another sign-in")
        if "code" not in answer:
            raise _failed(f"the provider refuses: {answer.get('error', 'it sends no code')}")
        async with httpx.AsyncClient(timeout=TIMEOUT_S) as client:
            metadata = await self._metadata(client)
            self._check_answer(metadata, answer)
            id_token = await self._redeemed(client, metadata, answer["code"], begun, redirect_uri)
            keys = await _document(client.build_request("GET", _endpoint(metadata, "jwks_uri")), client)
        claims = claims_of(id_token, keys, self._settings, begun.nonce)
        return identity_in(claims, self._settings.claim)

    async def _metadata(self, client: httpx.AsyncClient) -> Document:
        address = self._settings.issuer.removesuffix("/") + METADATA
        metadata = await _document(client.build_request("GET", address), client)
        if metadata.get("issuer") != self._settings.issuer:
            raise _failed(f"the provider calls itself {metadata.get('issuer')}, not {self._settings.issuer}")
        return metadata

    def _check_answer(self, metadata: Document, answer: Mapping[str, str]) -> None:
        """Refuse the answer of another provider, where this one names itself."""
        named = answer.get("iss", "")
        promised = metadata.get("authorization_response_iss_parameter_supported") is True
        if (named or promised) and named != self._settings.issuer:
            raise _failed("another provider has answered")

    async def _redeemed(
        self,
        client: httpx.AsyncClient,
        metadata: Document,
        code: str,
        begun: Begun,
        redirect_uri: str,
    ) -> str:
        """Redeem a code for its ID token (RFC 6749, 4.1.3). Raises SignInFailed."""
        sent = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": begun.verifier,
        }
        name, secret = self._settings.client_id, self._secret
        request = client.build_request(
            "POST",
            _endpoint(metadata, "token_endpoint"),
            data=sent if secret else {**sent, "client_id": name},
            headers={"Accept": "application/json"},
        )
        auth = httpx.BasicAuth(quote_plus(name), quote_plus(secret)) if secret else None  # RFC 6749, 2.3.1
        return str((await _document(request, client, auth)).get("id_token", ""))


def claims_of(id_token: str, keys: Document, settings: SignInSettings, nonce: str) -> Document:
    """Read an ID token: signed by the provider, for this page and this sign-in. Raises SignInFailed."""
    # Here, as a page with tokens alone does not need them: 80 ms of its start.
    from joserfc import jwt
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet
    from joserfc.jwt import JWTClaimsRegistry

    expected = JWTClaimsRegistry(
        leeway=LEEWAY_S,
        iss={"essential": True, "value": settings.issuer},
        aud={"essential": True, "value": settings.client_id},
        azp={"value": settings.client_id},
        nonce={"essential": True, "value": nonce},
        sub={"essential": True},
        exp={"essential": True},
    )
    try:
        key_set = KeySet.import_key_set({"keys": list(keys["keys"])})
        claims = jwt.decode(id_token, key_set, ALGORITHMS).claims
        expected.validate(claims)
    except (JoseError, ValueError, KeyError, TypeError) as error:
        raise _failed(f"its ID token is not to be trusted: {type(error).__name__}: {error}") from error
    return claims


def identity_in(claims: Document, claim: str) -> str:
    """Read who somebody is out of claims. Raises SignInFailed for nobody, and for an unverified address."""
    identity = claims.get(claim)
    if not isinstance(identity, str) or not identity:
        raise _failed(f"the provider does not say {claim}")
    if claim == "email" and claims.get("email_verified") is not True:
        raise _failed(f"the provider has not verified the address {identity}")
    return identity


async def _document(
    request: httpx.Request, client: httpx.AsyncClient, auth: httpx.Auth | None = None
) -> Document:
    """Read the JSON object that the provider answers with. Raises SignInFailed."""
    try:
        answer = await client.send(request, auth=auth)
        answer.raise_for_status()
        document = answer.json()
    except (httpx.HTTPError, ValueError) as error:
        raise _failed(f"the provider does not answer: {type(error).__name__}: {error}") from error
    if not isinstance(document, dict):
        raise _failed(f"{request.url} is no JSON object")
    return document


def _endpoint(metadata: Document, name: str) -> httpx.URL:
    """Read an address of the provider; over http only where it is on this machine. Raises SignInFailed."""
    try:
        url = httpx.URL(str(metadata.get(name, "")))
    except httpx.InvalidURL as error:
        raise _failed(f"the provider's {name} is no address") from error
    if not (url.scheme == "https" or (url.scheme == "http" and url.host in LOOPBACK)):
        raise _failed(f"the provider's {name} is not https://")
    return url


def _challenge(verifier: str) -> str:
    """Make the challenge of a verifier (RFC 7636, 4.2)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _failed(cause: str) -> SignInFailed:
    return SignInFailed(cause, "sign in again")
