"""Signing in at a provider: one from npm that is certified, and ID tokens as a liar would make them."""

from __future__ import annotations

import base64
import fcntl
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey

from planwright.extras.web.openid import SignInFailed, claims_of, identity_in
from planwright.security.credentials import Caller
from planwright.settings.server import SignInSettings
from tests.extras.web.conftest import ADDRESS, BASE, TOKENS, MakeStage, Stage
from tests.patience import PATIENCE_S

HERE = Path(__file__).parent / "provider"
BACK = f"{ADDRESS}/sign-in/back"
ACCOUNTS = {
    "ada": {"email": "Ada@Example.com", "email_verified": True},
    "ben": {"email": "ben@example.com", "email_verified": False},
    "eve": {"email": "eve@example.com", "email_verified": True},
}
PEOPLE = {
    name: {"identity": f"{name}@example.com", "name": name.title(), "tenant": "acme", "rights": ["approve"]}
    for name in ("ada", "ben")
}


@pytest.fixture(scope="session")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start oidc-provider from npm, as its lock file pins it; it is ended by its pid."""
    npm, node = shutil.which("npm"), shutil.which("node")
    assert npm, "signing in is tried at a provider from npm: install Node.js 20 or newer"
    assert node, "signing in is tried at a provider from npm: install Node.js 20 or newer"
    with (tmp_path_factory.getbasetemp().parent / "provider.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (HERE / "node_modules" / "oidc-provider").exists():
            options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
            subprocess.run([npm, "ci", *options], cwd=HERE, check=True, timeout=PATIENCE_S)
    words = [node, "provider.mjs", BACK, json.dumps(ACCOUNTS)]
    with subprocess.Popen(words, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as provider:
        assert provider.stdout is not None
        yield provider.stdout.readline().decode().strip()
        provider.kill()


@pytest.fixture
def stage(make_stage: MakeStage, issuer: str, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """A page whose people sign in at the provider."""
    monkeypatch.setenv("PROVIDER_SECRET", "s" * 40)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    sign_in = {"issuer": issuer, "client_id": "planwright", "client_secret_env": "PROVIDER_SECRET"}
    return make_stage(more={"people": PEOPLE, "sign_in": sign_in})


async def led_back(client: httpx.AsyncClient, account: str) -> str:
    """Follow a browser to the provider and through its forms; return where that leads it back to."""
    begun = await client.get("/sign-in/provider")
    assert begun.status_code == 303
    url = begun.headers["location"]
    async with httpx.AsyncClient(trust_env=False) as person:
        for _ in range(12):
            if url.startswith(BACK):
                return url.removeprefix(ADDRESS)
            answer = await person.get(url)
            if answer.is_redirect:
                url = str(answer.url.join(answer.headers["location"]))
                continue
            action = re.search(r'<form[^>]* action="([^"]+)"', answer.text)
            prompt = re.search(r'name="prompt" value="([^"]+)"', answer.text)
            assert action is not None
            assert prompt is not None
            form = {"prompt": prompt[1], "login": account, "password": "any"}
            answer = await person.post(answer.url.join(action[1]), data=form)
            url = str(answer.url.join(answer.headers["location"]))
    raise AssertionError(url)


async def rows(stage: Stage) -> list[tuple[str, str, str, str]]:
    """Read what is on record of sign-ins, the oldest first."""
    newest = await stage.parts.sign_ins.newest("acme", 10, 0)
    return [(row.way, row.outcome, row.person, row.tenant) for row in reversed(newest)]


@pytest.mark.long
@pytest.mark.enable_socket
async def test_a_person_signs_in_at_the_provider(stage: Stage) -> None:
    client = stage.client()
    assert "Sign in at 127.0.0.1" in (await client.get("/sign-in")).text
    back = await client.get(await led_back(client, "ada"))
    assert (back.status_code, 'content="0; url=/"' in back.text) == (200, True)
    page = await client.get("/approvals")
    assert "<summary>Ada</summary>" in page.text
    assert 'data-may="approve"' in page.text
    assert await rows(stage) == [("provider", "signed in", "Ada", "acme")]


@pytest.mark.enable_socket
async def test_a_provider_leads_to_the_address_and_that_to_the_host_of_the_page(stage: Stage) -> None:
    client = stage.client()
    back = await led_back(client, "ada")
    by_address = {"Host": "127.0.0.1:2025"}
    led = await stage.client().get(back, headers=by_address)
    assert (led.status_code, led.headers["location"]) == (303, BASE + back)
    stranger = await stage.client().get(re.sub(r"state=[^&]+", "state=x", back), headers=by_address)
    assert (stranger.status_code, "location" in stranger.headers) == (401, False)
    assert (await client.get(back)).status_code == 200


@pytest.mark.enable_socket
@pytest.mark.parametrize(
    ("account", "reason", "identity"),
    [
        ("eve", "eve@example.com is not among the people here", "eve@example.com"),
        ("ben", "has not verified the address ben@example.com", ""),
        ("kim", "does not say email", ""),
    ],
)
async def test_nobody_else_gets_in(stage: Stage, account: str, reason: str, identity: str) -> None:
    client = stage.client()
    refused = await client.get(await led_back(client, account))
    assert (refused.status_code, reason in refused.text) == (401, True)
    assert (await client.get("/approvals")).status_code == 401
    assert await rows(stage) == [("provider", "refused", identity, "")]


@pytest.mark.enable_socket
async def test_a_way_back_counts_once_and_in_the_browser_that_began(stage: Stage) -> None:
    client, other = stage.client(), stage.client()
    back = await led_back(client, "ada")
    theirs = await led_back(other, "ada")
    assert "not begun here" in (await stage.client().get(back)).text
    assert "another sign-in" in (await other.get(back)).text  # and theirs is spent
    assert "not begun here" in (await other.get(theirs)).text
    wrong = await led_back(client, "ada")
    named = re.sub(r"iss=[^&]+", "iss=https%3A%2F%2Fevil.example", wrong)
    assert named != wrong
    assert "another provider has answered" in (await client.get(named)).text
    right = await led_back(client, "ada")
    assert (await client.get(right)).status_code == 200
    assert (await client.get(right)).status_code == 401
    assert [outcome for _, outcome, _, _ in await rows(stage)].count("signed in") == 1


@pytest.mark.enable_socket
async def test_a_provider_that_does_not_answer_is_named(make_stage: MakeStage) -> None:
    sign_in = {"issuer": "http://127.0.0.1:1", "client_id": "planwright"}
    client = make_stage(more={"people": PEOPLE, "sign_in": sign_in}).client()
    refused = await client.get("/sign-in/provider")
    assert (refused.status_code, "the provider does not answer" in refused.text) == (401, True)


async def test_who_fails_ten_times_in_a_minute_waits(make_stage: MakeStage) -> None:
    stage = make_stage()
    client, headers = stage.client(), {"Origin": BASE}
    statuses = [
        (await client.post("/sign-in", data={"token": "x" * 43}, headers=headers)).status_code
        for _ in range(12)
    ]
    assert statuses == [401] * 10 + [429] * 2
    late = await client.post("/sign-in", data={"token": TOKENS["ada"]}, headers=headers)
    assert (late.status_code, int(late.headers["retry-after"]) > 0) == (429, True)
    assert len(await rows(stage)) == 10


EC = ECKey.generate_key("P-256")
SETTINGS = SignInSettings(issuer="https://login.example.com", client_id="planwright")
GOOD: dict[str, Any] = {"iss": SETTINGS.issuer, "aud": "planwright", "nonce": "n", "sub": "1"}
LIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "issuer": lambda claims: claims | {"iss": "https://login.example.com/"},
    "no issuer": lambda claims: {name: value for name, value in claims.items() if name != "iss"},
    "audience": lambda claims: claims | {"aud": "another"},
    "audience of several": lambda claims: claims | {"aud": ["planwright", "x"], "azp": "x"},
    "no audience": lambda claims: {name: value for name, value in claims.items() if name != "aud"},
    "nonce": lambda claims: claims | {"nonce": "m"},
    "no nonce": lambda claims: {name: value for name, value in claims.items() if name != "nonce"},
    "over": lambda claims: claims | {"exp": int(time.time()) - 3600},
    "no end": lambda claims: {name: value for name, value in claims.items() if name != "exp"},
    "nobody": lambda claims: {name: value for name, value in claims.items() if name != "sub"},
}


@cache
def rsa_key(name: str) -> RSAKey:
    """Make a key for RSA at its first use: a third of a second, of which collecting is to spend none."""
    return RSAKey.generate_key(2048, {"kid": name})


@cache
def keys() -> dict[str, Any]:
    """Make the public keys of the provider, as it lists them."""
    return {"keys": [rsa_key("r").as_dict(private=False), EC.as_dict(private=False, kid="e")]}


def good() -> dict[str, Any]:
    """Make claims that hold for ten minutes."""
    return GOOD | {"exp": int(time.time()) + 600}


def signed(claims: dict[str, Any], key: Any = None, algorithm: str = "RS256", kid: str = "r") -> str:
    """Sign claims as an ID token, with the RSA key of the provider unless another is named."""
    header = {"alg": algorithm, "kid": kid}
    return jwt.encode(header, claims, key or rsa_key("r"), algorithms=[algorithm])


@pytest.mark.parametrize(
    ("algorithm", "key", "kid"), [("RS256", None, "r"), ("PS256", None, "r"), ("ES256", EC, "e")]
)
def test_a_token_of_the_provider_is_read(algorithm: str, key: Any, kid: str) -> None:
    token = signed(good(), key, algorithm, kid)
    assert claims_of(token, keys(), SETTINGS, "n")["sub"] == "1"


@pytest.mark.parametrize("lie", LIES)
def test_a_token_with_a_lie_is_refused(lie: str) -> None:
    with pytest.raises(SignInFailed, match=r"ClaimError|TokenError"):
        claims_of(signed(LIES[lie](good())), keys(), SETTINGS, "n")


def test_a_token_that_the_provider_has_not_signed_is_refused() -> None:
    head, body, signature = signed(good()).split(".")
    none = base64.urlsafe_b64encode(b'{"alg":"none","kid":"r"}').rstrip(b"=").decode()
    public = OctKey.import_key(
        base64.b64encode(rsa_key("r").as_pem(private=False))
    )  # taken for a shared secret
    forged = base64.urlsafe_b64encode(json.dumps(good() | {"sub": "2"}).encode()).rstrip(b"=").decode()
    for token in (
        f"{none}.{body}.",
        f"{none}.{body}.{signature}",
        signed(good(), public, "HS256"),
        signed(good(), rsa_key("another")),
        signed(good(), kid="e"),
        f"{head}.{forged}.{signature}",
        f"{head}.{body}.",
        "x.y.z",
        "",
    ):
        with pytest.raises(SignInFailed):
            claims_of(token, keys(), SETTINGS, "n")
    none_of_ours: list[dict[str, Any]] = [{}, {"keys": []}, {"keys": [{}]}, {"keys": 3}]
    for listed in none_of_ours:
        with pytest.raises(SignInFailed):
            claims_of(signed(good()), listed, SETTINGS, "n")


def test_an_address_counts_where_it_is_verified() -> None:
    assert identity_in({"email": "a@b.c", "email_verified": True}, "email") == "a@b.c"
    assert identity_in({"sub": "7"}, "sub") == "7"
    for claims in ({"email": "a@b.c"}, {"email": "a@b.c", "email_verified": "true"}, {"email": 3}, {}):
        with pytest.raises(SignInFailed):
            identity_in(claims, "email")


async def test_the_same_person_has_one_name_for_decisions(stage: Stage) -> None:
    assert stage.parts.people.caller("ADA@example.com") == Caller("Ada", "acme", frozenset(("approve",)))
