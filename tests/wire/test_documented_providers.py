"""Each provider of the pages serves, is asked with its key, and by the name of its model."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.docs.pages import Block, block
from tests.wire.documented_providers import KEY, PROVIDERS, play

pytestmark = pytest.mark.enable_socket


@pytest.mark.long
@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.place)
def test_a_provider_of_the_pages_serves(provider: Block, tmp_path: Path) -> None:
    requests = play(provider, (sys.executable, "-m", "planwright"), tmp_path)
    models = re.findall(r'(?m)^model = "(.*)"', provider.text)
    assert {request.key for request in requests} == {KEY}
    assert {request.body["model"] for request in requests} <= set(models)


def test_the_provider_of_the_readme_is_short() -> None:
    assert block("toml", "README.md", "[providers.local]").count("\n") < 10
