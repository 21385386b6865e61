"""Settings with their origins: what sets each, and no secret."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from planwright.extras.web.view_models.setting_rows import HIDDEN, setting_rows
from planwright.presentation.setting_origin import origin_of
from planwright.security.redaction.known_secrets import redactor_of
from planwright.settings.settings import load


def test_each_setting_says_what_sets_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "planwright.toml").write_text("[critic]\n[sessions]\nttl_s = 60\n", "utf-8")
    monkeypatch.setenv("PLANWRIGHT_SESSIONS__TTL_S", "90")
    settings = load(tmp_path)
    rows = {row.name: row for row in setting_rows(settings, redactor_of(settings), "", set_only=False)}
    ttl = rows["sessions.ttl_s"]
    assert (float(ttl.value), ttl.origin) == (90, "PLANWRIGHT_SESSIONS__TTL_S")
    assert rows["sessions.lease_s"].origin == "default"
    set_rows = setting_rows(settings, redactor_of(settings), "SESSIONS", set_only=True)
    assert [row.name for row in set_rows] == ["sessions.ttl_s"]


def test_no_secret_and_no_hash_of_one_is_shown(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"t" * 43).hexdigest()
    settings = load(
        tmp_path,
        server={"tokens": {"ada": {"sha256": digest}}},
        providers={
            "a": {"model": "m", "api_key": "sk-very-secret-value", "base_url": "http://127.0.0.1:1/v1"}
        },
    )
    rows = {row.name: row.value for row in setting_rows(settings, redactor_of(settings), "", set_only=False)}
    assert rows["server.tokens.ada.sha256"] == HIDDEN
    whole = " ".join(rows.values())
    assert digest not in whole
    assert "very-secret" not in whole
    assert "m" in rows["providers.a.model"]


def test_the_origin_of_a_table_is_that_of_its_values() -> None:
    named = {"a": "FILE", "b.c": "VARIABLE"}
    assert origin_of("a.x", named, "default") == "FILE"
    assert origin_of("b.c", named, "default") == "VARIABLE"
    assert origin_of("b", named, "default") == "default"
    assert origin_of("ab", named, "default") == "default"
