"""Every value that the settings know as secret is found, by a name one can recognise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planwright.security.redaction.known_secrets import known_secrets
from planwright.settings.settings import load

TOML = """
[providers.typed]
model = "m"
base_url = "https://user:pass%40word1@host.example/v1"
api_key = "typed-into-the-file"
[providers.named]
model = "m"
api_key_env = "NAMED_KEY"
[providers.local]
model = "m"
base_url = "http://127.0.0.1:1/v1"
api_key = "not-needed"
[secrets]
env = ["DEPLOY_TOKEN", "UNSET_TOKEN"]
"""
MCP = {
    "mcpServers": {
        "web": {
            "url": "https://x",
            "headers": {"Authorization": "Bearer ${WEB_TOKEN}", "X-Key": "Bearer written-here"},
        },
        "local": {
            "command": "x",
            "env": {
                "API_KEY": "${LOCAL_VALUE:-by-default}",
                "HOME_FOLDER": "${HOME_FOLDER}",
                "PASSWORD": "plainly",
            },
        },
        "odd": {"env": None},
    }
}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    values = {"NAMED_KEY": "key-by-name", "DEPLOY_TOKEN": " deploys\n", "WEB_TOKEN": "web-token-1"}
    for name, value in {**values, "HOME_FOLDER": "/home/somebody"}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "planwright.toml").write_text(TOML, "utf-8")
    (tmp_path / ".mcp.json").write_text(json.dumps(MCP), "utf-8")
    return tmp_path


def test_each_kind_of_secret_is_known_by_name(workspace: Path) -> None:
    assert known_secrets(load(workspace)) == {
        "providers.typed.api_key": "typed-into-the-file",
        "providers.typed.base_url.password": "pass@word1",
        "NAMED_KEY": "key-by-name",
        "DEPLOY_TOKEN": "deploys",
        "WEB_TOKEN": "web-token-1",
        "LOCAL_VALUE": "by-default",
        "mcp.X-Key": "written-here",
        "mcp.PASSWORD": "plainly",
    }


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"mcpServers": []}', '{"mcpServers": {"x": 1}}', '{"mcpServers": null}']
)
def test_a_malformed_mcp_file_is_not_told_of_here(workspace: Path, text: str) -> None:
    (workspace / ".mcp.json").write_text(text, "utf-8")
    assert "WEB_TOKEN" not in known_secrets(load(workspace))


def test_secrets_in_addresses_arguments_and_under_short_names_are_known(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "of the environment")
    tables = {
        "a": {
            "command": "x",
            "args": ["--verbose", "yes", "--token", "${GITHUB_TOKEN}", "--api-key=in-args"],
        },
        "b": {"command": "x", "args": ["--secret", "next-to-it", "open"], "env": {"DB_PASS": "short-name"}},
        "c": {"url": "https://u:in-address@h.example/mcp?api_key=in-query&page=open-too"},
        "d": {
            "command": "x",
            "env": {"DATABASE_URL": "postgresql://u:in-variable@h/db", "PATH": "open-path"},
        },
        "e": {
            "command": "x",
            "env": {"GH_PAT": "a-short-name", "MYSQL_PWD": "mysql-pwd", "PATTERN": "open-p"},
        },
    }
    (workspace / ".mcp.json").write_text("{}", "utf-8")
    before = known_secrets(load(workspace))
    (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": tables}), "utf-8")
    assert dict(known_secrets(load(workspace)).items() - before.items()) == {
        "GITHUB_TOKEN": "of the environment",
        "mcp.api-key": "in-args",
        "mcp.secret": "next-to-it",
        "mcp.DB_PASS": "short-name",
        "mcp.url.password": "in-address",
        "mcp.url.api_key": "in-query",
        "mcp.DATABASE_URL.password": "in-variable",
        "mcp.GH_PAT": "a-short-name",
        "mcp.MYSQL_PWD": "mysql-pwd",
    }
