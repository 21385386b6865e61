"""Settings: flags over environment over file, and errors that name the place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from planwright.domain.errors import SetupError
from planwright.settings.providers import ProviderSettings
from planwright.settings.settings import FILE_NAME, api_keys, load


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("PLANWRIGHT_", "OPENAI_")):
            monkeypatch.delenv(name)


def write(folder: Path, text: str) -> Path:
    path = folder / FILE_NAME
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert (settings.planning.mode, settings.planning.max_steps) == ("auto", 20)
    assert settings.providers == {}
    assert settings.store_folder == tmp_path / ".planwright"


def test_the_environment_overrides_the_file_and_a_flag_overrides_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "[planning]\nmode = 'never'\nmax_steps = 7\nthreshold = 1\n")
    assert load(tmp_path).planning.mode == "never"
    monkeypatch.setenv("PLANWRIGHT_PLANNING__MODE", "always")
    monkeypatch.setenv("PLANWRIGHT_PLANNING__THRESHOLD", "2")
    assert load(tmp_path).planning.mode == "always"
    planning = load(tmp_path, planning={"mode": "auto"}).planning
    assert (planning.mode, planning.threshold, planning.max_steps) == ("auto", 2, 7)


def test_sources_are_merged_key_by_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "[channels.team]\nurl = 'http://a'\n[providers.x]\nmodel = 'm'\npriority = 5\n")
    monkeypatch.setenv("PLANWRIGHT_PROVIDERS__X__PRIORITY", "1")
    settings = load(tmp_path, channels={"ops": {"url": "http://b"}})
    assert {name: channel.url for name, channel in settings.channels.items()} == {
        "team": "http://a",
        "ops": "http://b",
    }
    assert (settings.providers["x"].model, settings.providers["x"].priority) == ("m", 1)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[planning\nmode = 1\n", 1),
        ('[planning]\nmode = "always\n[execution]\n', 2),
        ("a = 1\n\n\nb = \n", 4),
        ("[planning]\nmode = 'auto'\nmode = 'never'\n", 3),
    ],
    ids=["header", "string", "value", "twice"],
)
def test_a_malformed_file_is_refused_by_file_and_line(tmp_path: Path, text: str, line: int) -> None:
    path = write(tmp_path, text)
    with pytest.raises(SetupError) as refused:
        load(tmp_path)
    assert str(path) in refused.value.cause
    assert f"line {line}," in refused.value.cause
    assert refused.value.next_step


def test_a_file_that_is_no_text_is_refused_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(b"\xff\xfe[planning]")
    with pytest.raises(SetupError) as refused:
        load(tmp_path)
    assert str(path) in refused.value.cause


@pytest.mark.parametrize(
    ("text", "line", "name", "hint"),
    [
        ("[planning]\nmod = 'auto'\n", 2, "planning.mod", "planning.mode"),
        ("[planing]\nmode = 'auto'\n", 1, "planing", "planning"),
        (
            "[execution]\nmax_paralel_steps = 3\n",
            2,
            "execution.max_paralel_steps",
            "execution.max_parallel_steps",
        ),
        ("# a remark\n\n[budgets.run]\ntoken = 3\n", 4, "budgets.run.token", "budgets.run.tokens"),
        ("[storage]\nbusy_timeout = 3\n", 2, "storage.busy_timeout", "storage.busy_timeout_s"),
        ("[agents.x]\ntool = ['a']\n", 2, "agents.x.tool", "agents.x.tools"),
        ("[agents.x.limits]\ntoken = 3\n", 2, "agents.x.limits.token", "agents.x.limits.tokens"),
    ],
    ids=["key", "section", "typing error", "nested", "unit left out", "in a table", "below a table"],
)
def test_an_unknown_key_is_refused_by_its_line_with_the_nearest_one(
    tmp_path: Path, text: str, line: int, name: str, hint: str
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(SetupError) as refused:
        load(tmp_path)
    assert refused.value.cause == f"{path}:{line}: there is no setting `{name}`"
    assert refused.value.next_step == f"did you mean `{hint}`?"


@pytest.mark.parametrize(
    ("text", "line", "name"),
    [
        ("[planning]\nmode = 'sometimes'\n", 2, "planning.mode"),
        ("[execution]\nstep_retries = 1\nmax_parallel_steps = 0\n", 3, "execution.max_parallel_steps"),
        ("[approval]\nplan_risk = 'Huge'\n", 2, "approval.plan_risk"),
        ("[sessions]\ngate_ttl_s = 'long'\n", 2, "sessions.gate_ttl_s"),
        ("[agents.x]\nplanning = 'often'\n", 2, "agents.x.planning"),
        ("[agents.x]\n\nmax_tool_iterations = 501\n", 3, "agents.x.max_tool_iterations"),
        ("[agents.'my mail']\nplanning = 'auto'\n", 1, "agents.my mail"),
        ("[providers.x]\nmodel = 'm'\nmonthly_cost = inf\n", 3, "providers.x.monthly_cost"),
        ("[providers.x]\nmodel = 'm'\ndaily_tokens = -1\n", 3, "providers.x.daily_tokens"),
        (
            "[providers.x]\nmodel = 'm'\nprices = {input_per_million = 1}\n",
            3,
            "providers.x.prices.output_per_million",
        ),
        ("[budgets.run]\nwall_clock_s = -1\n", 2, "budgets.run.wall_clock_s"),
        ("[budgets.run]\n\nwall_clock_s = inf\n", 3, "budgets.run.wall_clock_s"),
        ("[sessions]\nlease_s = inf\n", 2, "sessions.lease_s"),
        ("[queue]\nmax_concurrent = 100_000_000_000_000_000_000\n", 2, "queue.max_concurrent"),
    ],
)
def test_a_wrong_value_is_refused_by_its_line(tmp_path: Path, text: str, line: int, name: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(SetupError) as refused:
        load(tmp_path)
    assert refused.value.cause.startswith(f"{path}:{line}: `{name}`")


def test_a_variable_that_sets_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANWRIGHT_PLANING__MODE", "always")
    with pytest.raises(SetupError, match=r"PLANWRIGHT_PLANING__MODE .* no setting `planing`") as refused:
        load(tmp_path)
    assert refused.value.next_step == "did you mean PLANWRIGHT_PLANNING__…?"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[planning]\nmax_steps = 5\n[execution]\nsteps = 3\n", 4),
        ("# steps = 1\n[execution]\nsteps = 3\n", 3),
        ("[planning]\nthreshold = 3\n[approval]\nthreshold = 4\n", 4),
    ],
    ids=["inside another key", "in a remark", "in another section"],
)
def test_the_line_of_an_unknown_key_is_its_own(tmp_path: Path, text: str, line: int) -> None:
    path = write(tmp_path, text)
    with pytest.raises(SetupError) as refused:
        load(tmp_path)
    assert refused.value.cause.startswith(f"{path}:{line}:")


def test_a_wrong_value_of_the_environment_is_not_blamed_on_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANWRIGHT_PLANNING__MODE", "sometimes")
    with pytest.raises(SetupError, match=r"or the environment: `planning\.mode`"):
        load(tmp_path)


@pytest.mark.parametrize("name", ["PLANWRIGHT_EGRESS__ALLOW", "PLANWRIGHT_EGRESS", "PLANWRIGHT_PROVIDERS"])
def test_a_value_of_the_environment_that_is_no_json_is_a_setup_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "localhost:8080")
    with pytest.raises(SetupError, match=r"egress|providers"):
        load(tmp_path)


def test_a_flag_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="there is no setting `planing`"):
        load(tmp_path, planing={"mode": "auto"})


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=f"there is no folder {tmp_path / 'nowhere'}"):
        load(tmp_path / "nowhere")


def test_the_file_cannot_move_the_workspace(tmp_path: Path) -> None:
    write(tmp_path, "workspace = '/etc'\n")
    assert load(tmp_path).workspace == tmp_path


def test_a_key_in_the_environment_alone_makes_a_provider_of_lowest_rank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("OPENAI_MODEL", "m")
    write(tmp_path, "[providers.mine]\nmodel = 'x'\n")
    providers = load(tmp_path).providers
    assert {name: provider.model for name, provider in providers.items()} == {"openai": "m", "mine": "x"}
    assert providers["openai"].priority > providers["mine"].priority


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"api_key": "written"}, ("written",)),
        ({"api_keys": ["one", "two", "one"]}, ("one", "two")),
        ({"api_key_env": "MY_KEY"}, ("mine",)),
        ({"api_key_env": ["MY_KEY", "UNSET_KEY", "OPENAI_API_KEY"]}, ("mine", "sk-1")),
        ({}, ("sk-1",)),
        ({"api_key_env": "UNSET_KEY"}, ()),
    ],
    ids=["written", "several written", "in a variable", "in several", "in the usual variable", "nowhere"],
)
def test_the_keys_are_found(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], expected: tuple[str, ...]
) -> None:
    monkeypatch.setenv("MY_KEY", "mine")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.delenv("UNSET_KEY", raising=False)
    assert api_keys(ProviderSettings.model_validate({"model": "m", **given})) == expected


def test_a_key_is_never_shown(tmp_path: Path) -> None:
    write(tmp_path, "[providers.x]\nmodel = 'm'\napi_key = 'sk-secret'\n")
    settings = load(tmp_path)
    assert "sk-secret" not in f"{settings!r} {settings.model_dump_json()}"


def test_variables_are_filled_in_but_not_in_what_agents_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_MODEL", "my-model")
    write(
        tmp_path,
        "[providers.local]\nmodel = '${LOCAL_MODEL}'\nbase_url = 'http://${HOST_NOT_SET:-127.0.0.1}:9/v1'\n"
        "[agents.writer]\ninstructions = 'Write ${TOTAL} as it is'\n",
    )
    settings = load(tmp_path)
    local = settings.providers["local"]
    assert (local.model, local.base_url) == ("my-model", "http://127.0.0.1:9/v1")
    assert settings.agents["writer"].instructions == "Write ${TOTAL} as it is"


def test_a_file_is_no_workspace(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SetupError, match="is a file, and no workspace") as refused:
        load(tmp_path / "file")
    assert refused.value.next_step == f"name a folder: -w {tmp_path}"


@pytest.mark.parametrize(
    ("text", "name", "cause"),
    [
        ("[channels.team]\nurl = 'chat.example'\n", "channels.team.url", "http:// or https://"),
        ("[critic]\nstrictness = 'medium'\n", "critic.strictness", "'Critical' or 'off'"),
        ("[egress]\nallow = 'x'\n", "egress.allow", "should be a list"),
        ("[channels]\nteam = 'x'\n", "channels.team", "should be a table"),
        ("[budgets.run]\ncost = 'x'\n", "budgets.run.cost", "should be a number"),
    ],
    ids=["address", "one of", "list", "table", "number"],
)
def test_a_value_that_is_none_is_refused_in_words_of_the_file(
    tmp_path: Path, text: str, name: str, cause: str
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(SetupError) as refused:
        load(tmp_path)
    assert refused.value.cause.startswith(f"{path}:2: `{name}`: ")
    assert cause in refused.value.cause


def test_every_limit_of_a_run_may_be_unlimited(tmp_path: Path) -> None:
    names = ("tokens", "tool_calls", "cost", "wall_clock_s", "effects", "effects_per_minute")
    write(tmp_path, "[budgets.run]\n" + "".join(f"{name} = 'unlimited'\n" for name in names))
    limits = load(tmp_path).budgets.run
    assert [getattr(limits, name) for name in names] == [None] * len(names)
