"""Who asks: tokens from the settings, the token of the start, and nothing else."""

from __future__ import annotations

import hashlib
import os
import pwd
from pathlib import Path

import pytest

from planwright.domain.errors import SetupError
from planwright.security.credentials import Caller, login_name, read_credentials
from planwright.security.redaction.known_secrets import known_secrets
from planwright.settings.settings import load, parse_settings

START, ADA, BOB = "s" * 43, "a" * 43, "b" * 43
TOKENS = f"""
[server.tokens.ada]
person = "ada@example.com"
tenant = "acme"
token_env = "ADA_TOKEN"

[server.tokens.bob]
sha256 = "{hashlib.sha256(BOB.encode()).hexdigest()}"
"""


@pytest.fixture
def settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings of a server with two tokens."""
    monkeypatch.setenv("ADA_TOKEN", ADA)
    (tmp_path / "planwright.toml").write_text(TOKENS, "utf-8")
    return tmp_path


@pytest.mark.parametrize("loopback", [True, False])
def test_a_token_names_a_person_and_a_tenant(settings_file: Path, loopback: bool) -> None:
    credentials = read_credentials(load(settings_file), START)
    assert credentials.caller(ADA, loopback=loopback) == Caller("ada@example.com", "acme")
    assert credentials.caller(BOB, loopback=loopback) == Caller("bob", "default")


def test_the_token_of_the_start_is_of_whoever_runs_the_server_and_for_this_machine(tmp_path: Path) -> None:
    credentials = read_credentials(load(tmp_path), START)
    assert login_name() == pwd.getpwuid(os.getuid()).pw_name
    assert credentials.caller(START, loopback=True) == Caller(login_name(), "default")
    assert credentials.caller(START, loopback=False) is None


@pytest.mark.parametrize("token", ["", " ", "x", START[:-1], f"{START} ", START.upper(), "\udcff"])
def test_another_token_is_nobodys(settings_file: Path, token: str) -> None:
    assert read_credentials(load(settings_file), START).caller(token, loopback=True) is None


@pytest.mark.parametrize("value", [None, "", "short", "x" * 23])
def test_a_token_that_is_missing_or_short_is_refused(
    settings_file: Path, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    if value is None:
        monkeypatch.delenv("ADA_TOKEN")
    else:
        monkeypatch.setenv("ADA_TOKEN", value)
    with pytest.raises(SetupError, match=r"server.tokens.ada.*ADA_TOKEN is") as refused:
        read_credentials(load(settings_file), START)
    assert "token_urlsafe" in refused.value.next_step


def test_one_token_for_two_names_is_refused(settings_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADA_TOKEN", BOB)
    with pytest.raises(SetupError, match="is the token of another name"):
        read_credentials(load(settings_file), START)


def test_tokens_are_secrets(settings_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANWRIGHT_START_TOKEN", START)
    assert {ADA, START} <= set(known_secrets(load(settings_file)).values())


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[server.tokens.ada]", "token_env or sha256"),
        ('[server.tokens.ada]\ntoken_env = "A"\nsha256 = "' + "0" * 64 + '"', "token_env or sha256"),
        ('[server.tokens.ada]\nsha256 = "0"', "sha256"),
        ('[server.tokens.ada]\ntoken_env = "A"\ntenant = ""', "tenant"),
        ('[server.tokens."a b"]\ntoken_env = "A"', "no name"),
        ('[server]\norigins = ["*"]', "origin"),
        ('[server]\norigins = ["https://a.example/"]', "origin"),
        ('[server]\norigins = ["null"]', "origin"),
        ('[server]\nhosts = ["*"]', "host"),
        ('[server]\nhosts = ["https://a.example"]', "host"),
        ("[server]\nkey = 1", "server.key"),
    ],
)
def test_a_setting_that_would_open_too_much_is_refused(tmp_path: Path, text: str, wrong: str) -> None:
    with pytest.raises(SetupError, match=wrong):
        parse_settings(text, tmp_path / "planwright.toml")
