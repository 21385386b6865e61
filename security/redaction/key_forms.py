"""Keys that are known by their form, whoever they are of: no model is told one.

The forms are those that their issuers document, as gitleaks and detect-secrets look for them. Each begins
with a mark of its own, and no two parts of one can take the same letters, so a search takes linear time.
"""

from __future__ import annotations

import re

from pydantic import JsonValue

_LINE = r"(?:\s|\\[nr])+"  # as it is, or in JSON
_BODY = rf"[A-Za-z0-9+/=]{{16,}}(?:{_LINE}[A-Za-z0-9+/=]{{4,}})*"
_PRIVATE_KEY = (
    rf"-----BEGIN (?:[A-Z0-9]{{1,20}} ){{0,3}}PRIVATE KEY(?: BLOCK)?-----{_LINE}"
    rf"(?:[A-Za-z-]{{1,30}}: [^\r\n\\]{{0,200}}(?=[\r\n\\]){_LINE}){{0,5}}{_BODY}(?:{_LINE})?"
    r"(?:-----END [A-Z0-9 ]{1,60}-----)?"
    rf"|Private-Lines: \d{{1,4}}{_LINE}{_BODY}"
)
FORMS = {
    "private-key": _PRIVATE_KEY,
    "aws-key": r"(?:AKIA|ASIA|ABIA|ACCA)(?![A-Z0-9]{9}EXAMPLE)[A-Z0-9]{16}(?!\w)",
    "aws-secret": r"(?i:aws_secret_access_key|aws_session_token)[\"']?\s{0,9}[=:]\s{0,9}[\"']?"
    r"[A-Za-z0-9/+=]{40,}",
    "github-token": r"gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{36,}",
    "gitlab-token": r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas|ffct)-[\w.-]{20,}",
    "slack-token": r"xox[abeoprs]-[\w-]{10,}|xapp-\d-[A-Z0-9]+-\d+-[a-z0-9]{16,}"
    r"|hooks\.slack\.com/services/T\w+/B\w+/\w{16,}",
    "google-key": r"AIza[\w-]{35}(?![\w-])|ya29\.[\w-]{20,}|GOCSPX-[\w-]{28}",
    "model-key": r"sk-(?!SK[-_])(?=[\w-]*\d)(?=[\w-]*[A-Z])[\w-]{20,}|sk-[a-f0-9]{32}(?![\w-])"
    r"|(?:gsk_|xai-|pplx-)[A-Za-z0-9]{40,}|(?:hf|r8)_[A-Za-z0-9]{30,}",
    "stripe-key": r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}",
    "package-token": r"npm_[A-Za-z0-9]{36}|pypi-AgE[\w-]{50,}|rubygems_[a-f0-9]{48}|dckr_pat_[\w-]{20,}",
    "cloud-token": r"do[opr]_v1_[a-f0-9]{64}|dapi[a-f0-9]{32}|hv[sbr]\.[\w-]{24,}|glsa_\w{32,}"
    r"|tskey-[a-z]+-[\w-]{16,}|AccountKey=[A-Za-z0-9+/]{80,}={0,2}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"
    r"|ATATT3[\w=-]{60,}|lin_api_[A-Za-z0-9]{32,}",
    "mail-key": r"SG\.[\w-]{16,64}\.[\w-]{16,64}|(?:key-|SK)[a-f0-9]{32}(?!\w)",
    "age-key": r"AGE-SECRET-KEY-1[A-Z0-9]{58}",
    "jwt": r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}",
    "client-key": r"client-key-data:\s{0,9}[A-Za-z0-9+/=]{40,}",
    "bot-token": r"\d{8,10}:AA[\w-]{33}(?![\w-])",
}
"""Forms by the name that stands in their place."""
_BEGINS = r"(?:(?<![\w-])|(?<=\\[nrt]))"  # or behind a new line in JSON
_NAMED = {name: f"(?P<{name.replace('-', '_')}>{form})" for name, form in FORMS.items()}
# Where one may begin is asked once for all of them: at most letters nothing else is tried.
_KEY = re.compile(f"{_NAMED.pop('private-key')}|{_BEGINS}(?:{'|'.join(_NAMED.values())})")
_PRIVATE = re.compile(_PRIVATE_KEY)


def without_keys(text: str) -> str:
    """Put `[REDACTED form]` in the place of each key in a text."""
    return _KEY.sub(lambda key: f"[REDACTED {(key.lastgroup or '').replace('_', '-')}]", text)


def without_keys_in(value: JsonValue) -> JsonValue:
    """Put `[REDACTED form]` in the place of each key in a JSON value."""
    if isinstance(value, str):
        return without_keys(value)
    if isinstance(value, dict):
        return {name: without_keys_in(held) for name, held in value.items()}
    return [without_keys_in(held) for held in value] if isinstance(value, list) else value


def holds_private_key(data: bytes) -> bool:
    """Say whether a file holds a private key, in PEM or as PuTTY writes it."""
    plain = data.replace(b"\0", b"")  # as UTF-16 has them, which PowerShell writes
    marked = b"PRIVATE KEY" in plain or b"Private-Lines" in plain
    return marked and _PRIVATE.search(plain.decode("latin-1")) is not None
