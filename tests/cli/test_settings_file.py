"""A planwright.toml, or a module it names, that cannot be used: which line, and what to write instead."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from tests.cli.desk import Desk, refusal

pytestmark = pytest.mark.long

DECLARES = """from planwright.capabilities.declaration import capability


@capability("mine.do", mode="read_only")
def do({argument}) -> str:
    {doc}
    return text
"""


@dataclass(frozen=True)
class Case:
    """A settings file, and what the message about it has to say."""

    name: str
    file: str
    line: int
    cause: str
    next_step: str


FILES = (
    Case("malformed", "[planning]\nmode = = auto\n", 2, "not valid TOML", "planwright.toml"),
    Case("an unknown section", '[planing]\nmode = "auto"\n', 1, "no setting `planing`", "`planning`"),
    Case("an unknown key", "[planning]\nmax_stepz = 3\n", 2, "`planning.max_stepz`", "`planning.max_steps`"),
    Case(
        "a wrong type", '[planning]\nmax_steps = "many"\n', 2, "`planning.max_steps`", "`planning.max_steps`"
    ),
    Case("a value out of range", "[execution]\nstep_retries = -1\n", 2, "`execution.step_retries`", "mend"),
    Case(
        "a wrong value below another key with its name in it",
        '[providers.local]\nmodel = "m"\n\n[planning]\nmode = "sometimes"\n',
        5,
        "'auto', 'llm_decides', 'always' or 'never'",
        "`planning.mode`",
    ),
    Case(
        "a capability that no model has",
        '[providers.local]\nmodel = "m"\n\ncapabilities = ["reasonning"]\n',
        4,
        "'reasoning', 'code', 'vision'",
        "`providers.local.capabilities.0`",
    ),
    Case(
        "a model with a key that it has not",
        '[providers.local]\nmodel = "m"\n[providers.local.models."big/2"]\ncontexts = 5\n',
        4,
        "`providers.local.models.big/2.contexts`",
        "`providers.local.models.big/2.context`",
    ),
    Case(
        "a missing key",
        '[planning]\nmode = "auto"\n[providers.local]\nbase_url = "http://127.0.0.1:9"\n',
        3,
        "`providers.local.model`",
        "`providers.local.model`",
    ),
    Case(
        "a variable that is not set",
        '[providers.local]\nmodel = "m"\napi_key = "${NOT_SET_ANYWHERE}"\n',
        3,
        "`providers.local.api_key` needs the variable NOT_SET_ANYWHERE, which is not set",
        "set NOT_SET_ANYWHERE",
    ),
    Case(
        "an address that is none",
        '[providers.local]\nmodel = "m"\nbase_url = ""\n',
        3,
        "`providers.local.base_url`: an address begins with http:// or https://",
        "mend `providers.local.base_url`",
    ),
    Case(
        "what is no variable",
        '[providers.local]\nmodel = "${no name}"\n',
        2,
        "`providers.local.model` holds a `${` that begins no variable",
        "${NAME}",
    ),
)


@pytest.mark.parametrize("case", FILES, ids=lambda case: case.name)
def test_a_bad_settings_file_is_named_with_its_line(desk: Desk, case: Case) -> None:
    desk.settings(case.file)
    done = desk.run("ls")
    said = refusal(done)
    assert done.code == 2
    assert re.search(rf"planwright\.toml(:{case.line}: | is not valid TOML: .*line {case.line}, )", said)
    assert case.cause in said
    assert case.next_step in said.splitlines()[-1]
    assert not (desk.folder / ".planwright").exists()


def test_a_value_that_cannot_be_filled_in_is_not_printed(desk: Desk) -> None:
    desk.settings('[providers.local]\nmodel = "m"\napi_key = "sk-live-abc${1secret"\n')
    assert "sk-live" not in refusal(desk.run("ls"))


def test_a_settings_file_that_is_no_text_is_refused(desk: Desk) -> None:
    (desk.folder / "planwright.toml").write_bytes(b"\xff\xfe[planning]")
    done = desk.run("ls")
    assert done.code == 2
    assert "planwright.toml" in refusal(done)


@dataclass(frozen=True)
class Module:
    """A module of capabilities, or None for one that is not there, and what the message has to say."""

    name: str
    text: str | None
    cause: str


MODULES = (
    Module("missing", None, "No module named 'mine'"),
    Module("raising", 'raise RuntimeError("no luck")\n', "RuntimeError: no luck"),
    Module("no Python", "def f(:\n", "SyntaxError"),
    Module("exiting", "raise SystemExit(0)\n", "SystemExit"),
    Module("declaring nothing", "x = 1\n", "declares no capability"),
    Module(
        "without type hints",
        DECLARES.format(argument="text", doc='"""Do it."""'),
        "`text` has no type hint",
    ),
    Module(
        "without a docstring", DECLARES.format(argument="text: str", doc="pass"), "mine.do has no docstring"
    ),
)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_a_module_that_cannot_be_used_is_refused_with_the_reason(desk: Desk, module: Module) -> None:
    desk.settings('[capabilities]\nmodules = ["mine"]\n')
    if module.text is not None:
        (desk.folder / "mine.py").write_text(module.text, encoding="utf-8")
    done = desk.run("capabilities")
    said = refusal(done)
    assert done.code == 2
    assert "mine" in said
    assert module.cause in said


def test_doctor_reports_a_bad_module_among_its_findings(desk: Desk) -> None:
    desk.settings('[capabilities]\nmodules = ["mine"]\n')
    (desk.folder / "mine.py").write_text('raise RuntimeError("no luck")\n', encoding="utf-8")
    done = desk.run("doctor")
    assert done.code == 1
    assert "no luck" in done.stdout
    assert "mail " in done.stdout
    assert "Traceback" not in done.printed
