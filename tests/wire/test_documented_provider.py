"""The provider of the README, with a server of ours in the place of its endpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from planwright.settings.settings import load
from tests.docs.pages import block
from tests.wire.asking import LISTING, ask
from tests.wire.conftest import Serve
from tests.wire.scripted_server import says

pytestmark = pytest.mark.enable_socket


def test_the_local_model_of_the_readme_serves(
    workspace: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = block("toml", "README.md", "[providers.local]")
    assert provider.count("\n") < 10
    server = serve(says(LISTING), says("Four tickets."))
    settings = provider.replace("http://127.0.0.1:8000/v1", server.base_url)
    (workspace / "planwright.toml").write_text(f"{settings}\n[planning]\nmode = 'always'\n", "utf-8")
    monkeypatch.setenv("LOCAL_KEY", "the key")
    assert ask(load(workspace)).answer == "Four tickets."
    assert {request.key for request in server.requests} == {"the key"}
    assert {request.body["model"] for request in server.requests} == {"qwen3-32b"}
