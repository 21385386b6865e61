"""An answer is shown when it is there: nobody waits for it behind the call that looks for memories."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.cli.desk import Desk
from tests.extras.worker.conftest import eventually
from tests.patience import PATIENCE_S
from tests.wire.held_server import Send, end, held_provider, word

pytestmark = pytest.mark.enable_socket
REQUEST = "Remember that I prefer metric units. How many legs has a spider?"


def settings(url: str) -> str:
    """Name the provider, which may be silent for longer than the test waits; leave the request to a loop."""
    can = ["function_calling", "streaming"]
    fields = {"base_url": url, "model": "m", "api_key": "k", "capabilities": can, "idle_timeout_s": 900}
    lines = [f"{name} = {json.dumps(value)}" for name, value in fields.items()]
    return "\n".join(
        ["[planning]", 'mode = "never"', "[memory]", "timeout_s = 900", "[providers.held]", *lines]
    )


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["words", "json"])
async def test_the_answer_does_not_wait_for_what_comes_behind_it(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    asked, released = asyncio.Event(), asyncio.Event()

    async def answers(send: Send) -> None:
        await send(word("Eight."))
        await send(end())

    async def is_held(send: Send) -> None:
        asked.set()
        await released.wait()
        await send(word('{"memories": []}'))
        await send(end())

    async with asyncio.timeout(PATIENCE_S), held_provider(answers, is_held) as provider:
        (tmp_path / "planwright.toml").write_text(settings(provider.url), "utf-8")
        with Desk(tmp_path).begin("run", REQUEST, *options) as process:
            await asked.wait()
            if not options:
                await eventually(lambda: process.stdout == "Eight.\n")
            with pytest.raises(TimeoutError):
                process.wait(0)
            released.set()
            assert await asyncio.to_thread(process.wait, PATIENCE_S) == 0
            printed = process.stdout
    assert printed == "Eight.\n" if not options else json.loads(printed)["answer"] == "Eight."
