"""`planwright init` begins a workspace that works at once, and `planwright config` says what is in force."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from planwright.capabilities.policy.file import load_policy
from planwright.cli.actions.new_workspace import TEMPLATES
from planwright.settings.settings import parse_settings
from tests.cli.desk import Desk


@pytest.fixture
def begun(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    done = desk.run("init")
    assert done.code == 0, done.stderr
    assert {path.name for path in tmp_path.iterdir()} == set(TEMPLATES)
    return desk


def test_the_commands_it_names_work(begun: Desk) -> None:
    counted = begun.run("call", "words.count", "--text=one two three")
    assert (counted.code, "3" in counted.stdout) == (0, True)
    assert begun.run("doctor").code == 0


def test_nothing_is_written_over(begun: Desk) -> None:
    before = {path: path.read_bytes() for path in begun.folder.iterdir()}
    (begun.folder / "own_work.py").unlink()
    refused = begun.run("init")
    assert refused.code == 2
    assert "planwright.toml is there already" in refused.stderr
    assert not (begun.folder / "own_work.py").exists()
    assert all(path.read_bytes() == before[path] for path in begun.folder.iterdir())


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused = Desk(tmp_path).run("init", "file/workspace")
    assert refused.code == 2
    assert "cannot write file/workspace: Not a directory" in refused.stderr


def test_every_line_that_is_commented_out_can_be_used(begun: Desk) -> None:
    path = begun.folder / "planwright.toml"
    text = re.sub(r"^# (?=\[|\w+ = )", "", path.read_text(), flags=re.MULTILINE)
    assert {"providers", "approval", "budgets", "egress", "sources"} <= tomllib.loads(text).keys()
    parse_settings(text, path)


def test_its_policy_is_the_one_that_is_shipped(begun: Desk, tmp_path_factory: pytest.TempPathFactory) -> None:
    own, shipped = load_policy(begun.folder), load_policy(tmp_path_factory.mktemp("bare"))

    def decisions(policy: object) -> list[tuple[object, object]]:
        return [(rule.match, rule.decide) for rule in policy.rules]  # type: ignore[attr-defined]

    assert decisions(own) == decisions(shipped)


def test_config_names_the_origin_of_each_value(begun: Desk) -> None:
    variables = {"PLANWRIGHT_PLANNING__MODE": "always", "PLANWRIGHT_EGRESS": '{"allow": ["a.example.com"]}'}
    entries = begun.run("config", "--json", env=variables).json
    assert entries["planning.mode"] == {"value": "always", "origin": "PLANWRIGHT_PLANNING__MODE"}
    assert entries["planning.threshold"]["origin"] == "default"
    assert entries["capabilities.modules"] == {"value": ["own_work"], "origin": "planwright.toml"}
    assert entries["egress.allow"] == {"value": ["a.example.com"], "origin": "PLANWRIGHT_EGRESS"}


def test_config_shows_no_secret(begun: Desk) -> None:
    toml = '[providers.local]\nmodel = "m"\napi_key = "key-0123456789abcdef"\n'
    toml += '[mail]\npassword = "pass-0123456789"\n'
    (begun.folder / "planwright.toml").write_text(toml)
    for options in ((), ("--json",)):
        shown = begun.run("config", *options)
        assert shown.code == 0, shown.stderr
        assert "providers.local.model" in shown.stdout
        assert "0123456789" not in shown.printed
