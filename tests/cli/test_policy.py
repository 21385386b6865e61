"""`planwright policy`: what is in force, what each rule is about, and what it answers to one call."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planwright.capabilities.policy.file import load_policy
from planwright.cli.commands.option_groups import CallOptions
from planwright.cli.views.policy_views import explain_call, show_policy
from planwright.domain.errors import SetupError
from tests.patience import PATIENCE_S

POLICY = """[[rule]]
match.capability = "files.write"
when = 'args.path.startsWith("secret/")'
decide = "deny"
reason = "secrets stay as they are"

[[rule]]
match = { mode = "local_write", tenant = "guest" }
decide = "ask"
approvers = ["kim"]

[[rule]]
match.capability = "files.*"
decide = "allow"

[[rule]]
match.capability = "files.read"
decide = "ask"

[[rule]]
decide = "ask"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(POLICY, "utf-8")
    return tmp_path


def asked(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    args: dict[str, str] | None = None,
    tenant: str = "default",
) -> dict[str, Any]:
    given = None if args is None else json.dumps(args)
    assert explain_call(name, CallOptions(given, tenant, None), folder, as_json=True) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def test_where_plans_and_loops_ask_from_other_risks_both_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "planwright.toml").write_text(
        '[approval]\nplan_risk = "High"\ntool_risk = "Medium"\n', "utf-8"
    )
    consent = asked(tmp_path, capsys, "tickets.create", {"title": "t"})["consent"]
    assert consent == "in a plan nobody is asked; where a model calls it a person is asked: risk Medium"


@pytest.mark.parametrize(
    ("request_", "consent", "says_more"),
    [
        ("", "a person is asked: risk Low, after reading what others wrote", True),
        ("Draft a mail to kim@a.example: the plan is ready", "nobody is asked", False),
    ],
)
def test_what_the_user_has_written_can_be_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], request_: str, consent: str, says_more: bool
) -> None:
    args = {"to": ["kim@a.example"], "subject": "the plan", "text": "the plan is ready"}
    call = CallOptions(json.dumps(args), "default", None, tainted=True, request=request_)
    assert explain_call("mail.draft", call, tmp_path, as_json=False) == 0
    screen = " ".join(capsys.readouterr().out.split())
    assert f"consent {consent}" in screen
    assert ("say it with --request" in screen) is says_more


def test_the_rules_are_listed_with_what_they_reach(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show_policy(folder, as_json=True) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["version"] == load_policy(folder).hash
    rules = [(rule["rule"], rule["decide"], rule["reaches"], rule["note"]) for rule in shown["rules"]]
    assert rules[:1] + rules[2:4] == [
        ("policy.toml:1", "deny", 1, ""),
        ("policy.toml:12", "allow", 6, ""),
        ("policy.toml:16", "ask", 1, "never decides: policy.toml:12 decides before it"),
    ]
    assert rules[1][2] > 1
    assert rules[4][2] > 10


def test_the_rules_are_shown_as_they_are_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "policy.toml").write_text(POLICY.replace('"secret/"', '"[bold]secret"'), "utf-8")
    assert show_policy(folder, as_json=False) == 0
    screen = capsys.readouterr().out
    assert 'args.path.startsWith("[bold]secret")' in screen
    assert "mode local_write; tenant guest" in screen
    assert load_policy(folder).hash in screen


def test_without_a_file_the_shipped_policy_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert show_policy(tmp_path, as_json=False) == 0
    assert "no policy.toml: the default policy is in force" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_a_call_is_explained_by_the_rules_that_were_looked_at(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = asked(folder, capsys, "files.write", {"path": "secret/a", "text": "x"})
    assert (told["answer"], told["reason"], told["rule"]) == (
        "deny",
        "secrets stay as they are",
        "policy.toml:1",
    )
    assert [look["rule"] for look in told["looked"]] == ["policy.toml:1"]
    told = asked(folder, capsys, "files.write", {"path": "a", "text": "x"})
    assert (told["answer"], told["rule"]) == ("allow", "policy.toml:12")
    assert [look["verdict"] for look in told["looked"]] == ["no", "no", "yes"]


def test_a_call_whose_arguments_are_not_known_is_explained_as_far_as_it_can_be(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = asked(folder, capsys, "files.write")
    assert (told["answer"], told["looked"][0]["verdict"]) == ("ask", "unknown")
    told = asked(folder, capsys, "files.write", {"path": "{{input.request}}", "text": "x"})
    assert (told["answer"], told["looked"][0]["verdict"], told["arguments"]) == ("ask", "unknown", "ok")


def test_where_it_is_not_known_whether_a_person_is_asked_nothing_else_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = asked(folder, capsys, "files.write")
    assert told["consent"] == "that depends on arguments that are not known yet"
    with pytest.raises(SetupError, match=r"where http\.request goes depends on its arguments"):
        asked(folder, capsys, "http.request")


@pytest.mark.parametrize(
    ("name", "args", "flaw"),
    [
        ("http.request", {"method": "POST", "url": "http://169.254.169.254/x"}, "which is not public"),
        ("mail.send", {"to": "kim@example.com"}, "field required"),
        ("files.write", {"path": "../a", "text": "x"}, "is outside the workspace"),
    ],
)
def test_of_a_call_that_would_be_refused_nobody_is_said_to_be_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, args: dict[str, str], flaw: str
) -> None:
    explained = asked(tmp_path, capsys, name, args)
    assert flaw in explained["arguments"]
    assert explained["consent"] == "nobody is asked: the call is refused"


def test_tenant_approvers_and_mode_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = asked(folder, capsys, "tickets.create", {"title": "t"}, "guest")
    assert (told["answer"], told["approvers"]) == ("ask", ["kim"])
    assert told["mode"] == {"answer": "allow", "reason": ""}
    assert (
        explain_call("tickets.create", CallOptions('{"title": "t"}', "guest", None), folder, as_json=False)
        == 0
    )
    screen = capsys.readouterr().out
    assert "local_write alone says allow" in screen
    assert "kim" in screen
    assert "ask: policy.toml:7 says ask" in screen


def test_arguments_that_the_capability_would_refuse_are_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        explain_call("files.read", CallOptions('{"pth": "a"}', "default", None), folder, as_json=False) == 0
    )
    assert "the call would be refused" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "args", "agent", "said"),
    [
        ("files.wriet", None, None, "there is no capability files.wriet"),
        ("files.write", "{", None, "--args is no JSON"),
        ("files.write", "[]", None, "--args is no JSON object"),
        ("files.write", None, "nobody", "there is no agent 'nobody'"),
    ],
)
def test_what_cannot_be_explained_is_refused(
    folder: Path, name: str, args: str | None, agent: str | None, said: str
) -> None:
    with pytest.raises(SetupError, match=said):
        explain_call(name, CallOptions(args, "default", agent), folder, as_json=False)


@pytest.mark.long
def test_a_policy_that_cannot_be_followed_ends_the_command_with_file_and_line(folder: Path) -> None:
    (folder / "policy.toml").write_text('[[rule]]\ndecide = "maybe"\n', "utf-8")
    command = [sys.executable, "-m", "planwright.cli.main", "policy", "check", "--workspace", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {folder}/policy.toml:2: `decide`: input should be")
    assert "next: " in done.stderr


def test_one_word_says_what_becomes_of_a_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(tmp_path, capsys, "tickets.create", {"title": "t"})["decision"] == "ask"
    assert asked(tmp_path, capsys, "files.list", {})["decision"] == "allow"
