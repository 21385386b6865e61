"""Every setting says what it lets happen, and one that runs, sends or opens something needs trust."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from planwright.capabilities.trust.brought import brought_by_folder
from planwright.capabilities.trust.consequences import (
    NOTHING,
    OPENS,
    RUNS,
    SENDS,
    consequences,
    setting_kinds,
)
from planwright.capabilities.trust.guard import FolderUntrusted, load_trusted
from planwright.settings.settings import load
from planwright.store.folder_trust import FolderTrust
from tests.capabilities.trust.settings_of_a_stranger import VALUES, written

ANTHROPIC = "[providers.a]\nmodel = 'm'\nclass = 'langchain_anthropic:ChatAnthropic'\n"
BY_DIGEST = "server.tokens.*.sha256"


def test_every_setting_stands_in_one_list() -> None:
    counted = Counter([*RUNS, *SENDS, *OPENS, *NOTHING])
    assert sorted(counted) == sorted({kind for kind, _ in setting_kinds()})
    assert set(counted.values()) == {1}


def test_every_setting_that_counts_is_tried_below() -> None:
    assert {*VALUES, BY_DIGEST} == {*RUNS, *SENDS, *OPENS}


@pytest.mark.sampled(20)
@pytest.mark.parametrize("kind", [*RUNS, *SENDS, *OPENS])
def test_it_counts_after_trust_alone(tmp_path: Path, other_machine: Path, kind: str) -> None:
    (tmp_path / "planwright.toml").write_text(written(kind), "utf-8")
    found = {each.kind: each.name for each in consequences(tomllib.loads(written(kind)))}
    things = {thing.name: thing for thing in brought_by_folder(load(tmp_path))}
    one = things.pop(found[kind])
    FolderTrust(tmp_path).give(things.values(), "ada")
    with pytest.raises(FolderUntrusted) as refused:
        load_trusted(tmp_path)
    assert f": {one.name} ({one.does})" in refused.value.cause
    assert f"planwright trust -w {tmp_path}" in refused.value.next_step
    FolderTrust(tmp_path).give([one], "ada")
    assert load_trusted(tmp_path) == load(tmp_path)
    FolderTrust(tmp_path).give([replace(one, digest="of another value")], "ada")
    with pytest.raises(FolderUntrusted):
        load_trusted(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "[planning]\nmode = 'always'",
        "[providers.openai]\nmodel = 'gpt-5'",
        "[providers.openai]\nmodel = 'gpt-5'\napi_key_env = 'OPENAI_API_KEY'",
        f"{ANTHROPIC}api_key_env = 'ANTHROPIC_API_KEY'",
        "[sources]\nmail = 'post'\ndatabases = { shop = 'data/shop.db' }",
        "[capabilities]\nprohibit = ['files.write']",
    ],
)
def test_what_does_nothing_asks_nobody(tmp_path: Path, other_machine: Path, text: str) -> None:
    (tmp_path / "planwright.toml").write_text(text, "utf-8")
    load_trusted(tmp_path)


@pytest.mark.parametrize("where", ["mail", "sources", "data"])
def test_a_source_that_a_link_leads_out_of_the_folder_asks(
    tmp_path: Path, other_machine: Path, where: str
) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / where).symlink_to(tmp_path)
    (folder / "planwright.toml").write_text(f"[sources]\nmail = '{where}/x'\n", "utf-8")
    with pytest.raises(FolderUntrusted, match=r"sources\.mail"):
        load_trusted(folder)


def test_the_key_of_another_provider_is_no_usual_one(tmp_path: Path, other_machine: Path) -> None:
    text = f"{ANTHROPIC}api_key_env = 'OPENAI_API_KEY'"
    (tmp_path / "planwright.toml").write_text(text, "utf-8")
    with pytest.raises(FolderUntrusted, match="api_key_env"):
        load_trusted(tmp_path)


def test_what_the_person_sets_in_the_environment_needs_no_trust(
    tmp_path: Path, other_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANWRIGHT_EGRESS__ALLOW", '["mine.example"]')
    assert load_trusted(tmp_path).egress.allow == ("mine.example",)
