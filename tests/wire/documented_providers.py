"""The providers that the pages show, each in a workspace of its own, with a server of ours at its address.

`python -m tests.wire.documented_providers PLANWRIGHT` plays them with any installed command.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.contract_anthropic import Anthropic
from benchmarks.contract_model import Reply as Said
from tests.docs.pages import Block, blocks
from tests.patience import PATIENCE_S
from tests.wire.scripted_server import Reply, Request, ScriptedServer, says

PROVIDERS = blocks("toml", mark="[providers.")
PLAN = json.dumps({"goal": "Read the clock", "steps": [{"id": "s1", "capability": "datetime.now"}]})
KEY = "key-of-the-documents"


def settings_of(block: Block, base_url: str) -> str:
    """Write the settings of a block, with the address of a server of ours in them."""
    addressed = re.sub(r'base_url = ".*"', f'base_url = "{base_url}"', block.text)
    if addressed == block.text:
        named = re.compile(r"^(\[providers\.\w+\])(?: *#.*)?$", re.MULTILINE)
        addressed = named.sub(rf'\1\nbase_url = "{base_url}"', block.text)
    return f'{addressed}\n[planning]\nmode = "always"\n'


def says_as_anthropic(text: str) -> Reply:
    """Answer with a text by the Messages API, streamed where it was asked for so."""

    def spelled(_: str, request: Request) -> str:
        family, said = Anthropic(), Said(text=text)
        if request.body.get("stream"):
            return b"".join(family.events(said, request.body)).decode()
        return json.dumps(family.whole(said, request.body))

    return Reply(fills=spelled)


def play(block: Block, planwright: Sequence[str], folder: Path) -> list[Request]:
    """Ask for the time with the provider of a block, and return what its server got.

    Raises AssertionError when the run does not complete with the words of the model.
    """
    says_ = says_as_anthropic if "ChatAnthropic" in block.text else says
    with ScriptedServer((says_(PLAN), says_("It is noon."))) as server:
        (folder / "planwright.toml").write_text(settings_of(block, server.base_url), "utf-8")
        variable = re.search(r"[A-Z]+_(?:API_)?KEY", block.text)
        key = {variable[0] if variable else "OPENAI_API_KEY": KEY}
        done = subprocess.run(
            [*planwright, "run", "What time is it?", "--json", "--no-input"],
            cwd=folder,
            env={**os.environ, **key, "NO_PROXY": "127.0.0.1"},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, f"{block.place}: {done.stdout}{done.stderr}"
        assert json.loads(done.stdout)["answer"] == "It is noon.", done.stdout
        return server.requests


if __name__ == "__main__":
    for provider in PROVIDERS:
        with TemporaryDirectory() as workspace:
            play(provider, sys.argv[1:], Path(workspace))
        print(f"provider of {provider.place}: completed")
