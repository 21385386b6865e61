"""Keys are known by their form, in linear time, and documents hold none."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from planwright.security.redaction.chat_model import messages_without_keys
from planwright.security.redaction.key_forms import FORMS, holds_private_key, without_keys, without_keys_in
from tests.growth import is_steep

ROOT = Path(__file__).parents[3]
A36 = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6"
BODY = base64.b64encode(bytes(range(256)) * 3).decode()
LINES = "\n".join(BODY[at : at + 64] for at in range(0, len(BODY), 64))
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{LINES}\n-----END RSA PRIVATE KEY-----"
# Put together here, so that no scanner takes the test for a leak.
KEYS = {
    "private-key": [
        PEM,
        PEM.replace("\n", "\\n"),
        f"-----BEGIN PRIVATE KEY-----\n{LINES}",
        f"-----BEGIN OPENSSH PRIVATE KEY-----\r\n{LINES}\r\n-----END OPENSSH PRIVATE KEY-----",
        f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,A0\n\n{LINES}",
        f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n{LINES}\n-----END PGP PRIVATE KEY BLOCK-----",
        f"Private-Lines: 14\n{LINES}",
    ],
    "aws-key": ["AKIA" + "Q3EGRIX7P2ZLW9KD", "ASIA" + "Q3EGRIX7P2ZLW9KD"],
    "aws-secret": [f"aws_secret_access_key = {A36}/+aB", f'"AWS_SECRET_ACCESS_KEY": "{A36}abcd"'],
    "github-token": [f"gh{kind}_{A36}" for kind in "pousr"] + [f"github_pat_{A36}_{A36}"],
    "gitlab-token": [f"glpat-{A36[:20]}", f"gldt-{A36[:20]}"],
    "slack-token": [
        f"xoxb-123456789012-{A36[:24]}",
        f"xoxp-1-2-{A36}",
        "xapp-1-A0B1C2-123456-" + "0123456789abcdef" * 2,
        f"hooks.slack.com/services/T00AB/B00CD/{A36[:24]}",
    ],
    "google-key": [f"AIza{A36[:35]}", f"ya29.{A36}", f"GOCSPX-{A36[:28]}"],
    "model-key": [
        f"sk-{A36}",
        f"sk-proj-{A36}",
        f"sk-ant-api03-{A36}",
        f"gsk_{A36}{A36}",
        f"hf_{A36}",
        "sk-" + "0123456789abcdef" * 2,
    ],
    "stripe-key": [f"sk_live_{A36[:24]}", f"rk_test_{A36[:24]}", f"whsec_{A36}"],
    "package-token": [f"npm_{A36}", f"pypi-AgE{A36}{A36}"],
    "cloud-token": [
        "dop_v1_" + "0123456789abcdef" * 4,
        f"hvs.{A36}",
        "shpat_" + "0123456789abcdef" * 2,
        f"AccountKey={A36}{A36}{A36}==",
    ],
    "mail-key": [f"SG.{A36[:22]}.{A36}", "key-" + "0123456789abcdef" * 2],
    "age-key": ["AGE-SECRET-KEY-1" + "Q3EGRIX7P2ZLW9KD" * 3 + "Q3EGRIX7P2"],
    "jwt": [f"eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.{A36}"],
    "client-key": [f"client-key-data: {A36}{A36}"],
    "bot-token": ["123456789:AA" + A36[:33]],
}
EVERY = [(name, key) for name, keys in KEYS.items() for key in keys]
AROUND = ("{}", "the key is {}", 'x = "{}"', "Bearer {}.", "a\\n{}\\n", "KEY={}\nb", "({})")


@pytest.mark.parametrize(("name", "key"), EVERY, ids=[f"{name}-{n}" for n, (name, _) in enumerate(EVERY)])
@pytest.mark.parametrize("around", AROUND)
def test_a_key_is_known_by_its_form_wherever_it_stands(name: str, key: str, around: str) -> None:
    clean = without_keys(around.format(key))
    assert f"[REDACTED {name}]" in clean
    assert not any(
        key[at : at + 16] in clean for at in range(len(key) - 15) if key[at : at + 16] in A36 + BODY
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252"])
def test_a_private_key_is_found_in_whatever_a_file_is_written_in(encoding: str) -> None:
    assert holds_private_key(PEM.encode(encoding))


def test_every_form_is_tried() -> None:
    assert KEYS.keys() == FORMS.keys()


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN PRIVATE KEY-----",
        "the file begins with -----BEGIN RSA PRIVATE KEY----- and then its body",
        "AKIA" + "IOSFODNN7EXAMPLE",
        "sk-no-key-required-for-this-server",
        "sk-fading-circle-spinner-large-12",
        "task-0123456789012345678901234A",
        "ghp_short",
        "eyJ is how a token begins",
        "disk-0A123456789012345678901",
        "sk-SK-Chirp3-HD-Achernar",  # a voice that speaks Slovak
        "-----BEGIN CERTIFICATE-----\n" + LINES,
        "-----BEGIN PUBLIC KEY-----\n" + LINES,
    ],
)
def test_what_only_speaks_of_keys_stays(text: str) -> None:
    assert without_keys(text) == text
    assert not holds_private_key(text.encode())


def test_no_document_or_example_of_ours_loses_a_word() -> None:
    kinds = {".md", ".toml", ".py", ".json", ".jsonl", ".eml", ".txt", ".csv", ".ics", ".yaml", ".html"}
    folders = (ROOT / "docs", ROOT / "examples", ROOT / "demo", ROOT / "prompts", ROOT / "cli")
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix in kinds]
    files += sorted(ROOT.glob("*.md"))
    assert len(files) > 150
    false = [path for path in files if without_keys(text := path.read_text("utf-8")) != text]
    assert not false, f"{len(false)} of {len(files)} files: {false}"


def test_messages_lose_keys_in_words_blocks_and_calls_and_nothing_else() -> None:
    key, signed = f"ghp_{A36}", {"type": "thinking", "thinking": "…", "signature": f"ghp_{A36}"}
    call = {"name": "put", "args": {"text": [key]}, "id": "1", "type": "tool_call"}
    plain = HumanMessage("hello")
    said = AIMessage([{"type": "text", "text": key}, signed], tool_calls=[call])
    told = ToolMessage(f"it is {key}", tool_call_id="1")
    clean = messages_without_keys([plain, said, told])
    assert clean[0] is plain
    assert clean[1].content == [{"type": "text", "text": "[REDACTED github-token]"}, signed]
    assert isinstance(clean[1], AIMessage)
    assert clean[1].tool_calls[0]["args"] == {"text": ["[REDACTED github-token]"]}
    assert clean[2].content == "it is [REDACTED github-token]"
    assert said.tool_calls[0]["args"] == {"text": [key]}


def test_values_that_are_no_text_stay() -> None:
    assert without_keys_in({"a": [1, None, True, f"ghp_{A36}"]}) == {
        "a": [1, None, True, "[REDACTED github-token]"]
    }


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "sk-",
            "sk-a",
            "sk-1A ",
            "eyJ",
            "eyJaaaaaaaaaa.",
            "xoxb-",
            "ghp_",
            "AKIA",
            "SG.",
            "a",
            " ",
            "-",
            "A1",
            "\\n",
        ),
        *(
            "-----BEGIN RSA PRIVATE KEY-----\n",
            "-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAA\n",
            "Proc-Type: 4,\n",
            "a: ",
            "a: \\n",
        ),
        *(
            "aws_secret_access_key=",
            "Private-Lines: 1\n",
            "AAAAAAAAAAAAAAAA ",
            "xapp-1-A-",
            "1234567890:AA",
            "glpat-.",
        ),
        *("tskey-a-", "hooks.slack.com/services/T", "client-key-data: "),
    ],
)
def test_a_text_of_100_kb_is_searched_in_linear_time(unit: str) -> None:
    text = (unit * (100_000 // len(unit) + 1))[:100_000]
    for tried in (text, f"-----BEGIN RSA PRIVATE KEY-----\n{text}", f"eyJ{text}", f"sk-{text}"):
        assert not is_steep(without_keys, tried)
        assert not is_steep(lambda read: holds_private_key(read.encode()), tried)
