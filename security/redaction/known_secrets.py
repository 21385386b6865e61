"""What is secret in a workspace: every value that its settings know as such, by name.

Keys of providers, whatever is typed `SecretStr`, passwords in addresses, the variables listed in
`[secrets] env`, the tokens of the server, and what `.mcp.json` hands to servers in headers, in
addresses and under names that sound secret.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import BaseModel, SecretStr

from planwright.security.redaction.redactor import Redactor
from planwright.settings.server import START_TOKEN
from planwright.settings.settings import Settings, from_environment

MCP_FILE = ".mcp.json"
PLACEHOLDERS = frozenset(("not-needed", "no-key-required", "sk-no-key-required", "lm-studio", "placeholder"))
_SOUNDS_SECRET = re.compile(
    r"key|token|secret|pass|pwd|(?<![a-z])pat(?![a-z])|credential|auth|cookie|dsn", re.IGNORECASE
)
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_SCHEME = re.compile(r"^(?:bearer|basic|token|digest)\s+", re.IGNORECASE)


def redactor_of(settings: Settings) -> Redactor:
    """Make what keeps the secrets of a workspace out of sight."""
    return Redactor(known_secrets(settings))


def known_secrets(settings: Settings) -> dict[str, str]:
    """Map the names of all secrets to their values; of names for one value, the first counts."""
    pairs = [*_typed(settings, ""), *_of_providers(settings)]
    pairs += [(name, from_environment(name)) for name in settings.secrets.env]
    if settings.mail.password_env:
        pairs.append((settings.mail.password_env, from_environment(settings.mail.password_env)))
    doors = (START_TOKEN, *(token.token_env for token in settings.server.tokens.values() if token.token_env))
    pairs += [(name, from_environment(name)) for name in doors]
    pairs += _of_mcp(settings.workspace / MCP_FILE)
    named: dict[str, str] = {}
    for name, value in pairs:
        stripped = value.strip()
        if stripped and stripped not in PLACEHOLDERS and stripped not in named.values():
            named.setdefault(name, stripped)
    return named


def _typed(value: object, name: str) -> Iterator[tuple[str, str]]:
    """Walk the settings for secrets by type, and for passwords in addresses."""
    if isinstance(value, SecretStr) and "://" in value.get_secret_value():
        yield from _password(value.get_secret_value(), name)
    elif isinstance(value, SecretStr):
        yield name, value.get_secret_value()
    elif isinstance(value, str) and "://" in value:
        yield from _password(value, name)
    elif isinstance(value, BaseModel):
        for field in type(value).model_fields:
            yield from _typed(getattr(value, field), f"{name}.{field}" if name else field)
    elif isinstance(value, dict):
        for key, held in value.items():
            yield from _typed(held, f"{name}.{key}")
    elif isinstance(value, list | tuple):
        for number, held in enumerate(value):
            yield from _typed(held, f"{name}.{number}")


def _password(address: str, name: str) -> Iterator[tuple[str, str]]:
    try:
        password = urlsplit(address).password
    except ValueError:
        return
    if password:
        yield f"{name}.password", unquote(password)


def _of_providers(settings: Settings) -> Iterator[tuple[str, str]]:
    """Read the variables that hold keys; keys that are written out are found by their type."""
    for provider in settings.providers.values():
        named = provider.api_key_env or "OPENAI_API_KEY"
        for name in (named,) if isinstance(named, str) else named:
            yield name, from_environment(name)


def _of_mcp(path: Path) -> Iterator[tuple[str, str]]:
    """Read what `.mcp.json` keeps secret. Its faults are reported where servers are started."""
    try:
        servers = json.loads(path.read_text("utf-8"))["mcpServers"]
        entries = [entry for table in servers.values() for entry in _entries(table)]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return
    for kind, key, value in entries:
        for variable, otherwise in _VARIABLE.findall(value):
            if kind == "headers" or _SOUNDS_SECRET.search(f"{key} {variable}"):
                yield variable, from_environment(variable) or otherwise
        if not _VARIABLE.search(value) and _SOUNDS_SECRET.search(key):
            yield f"mcp.{key}", _SCHEME.sub("", value)
        if "://" in value:
            yield from _in_address(value, f"mcp.{key}")


def _entries(table: Mapping[str, object]) -> Iterator[tuple[str, str, str]]:
    """List what a server is started or reached with: the kind, the name and the text of each entry."""
    for kind in ("headers", "env"):
        pairs = table.get(kind) or {}
        for key, value in pairs.items() if isinstance(pairs, dict) else ():
            yield kind, str(key), str(value)
    yield "url", "url", str(table.get("url") or "")
    command_line = table.get("args")
    args = [str(arg) for arg in command_line] if isinstance(command_line, list) else []
    for before, arg in zip(["", *args], args, strict=False):
        name, _, value = arg.partition("=") if arg.startswith("-") else (before, "", arg)
        yield "args", name.lstrip("-") if name.startswith("-") else "", value


def _in_address(address: str, name: str) -> Iterator[tuple[str, str]]:
    """Find the password of an address, and what its query calls a secret."""
    yield from _password(address, name)
    try:
        query = parse_qsl(urlsplit(address).query)
    except ValueError:
        return
    for key, value in query:
        if _SOUNDS_SECRET.search(key) and not _VARIABLE.search(value):
            yield f"{name}.{key}", value
