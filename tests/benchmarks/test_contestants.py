"""Each contestant is offered the tools of the script, and does all of its work."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.contestants import PAGE_BYTES, job_of, page_calls, page_text, planwright_at, stock_agent
from planwright.models.scripted import ScriptedModel

WORK = {"content": "", "tool_calls": [{"name": "bench__work", "args": {"level": 7, "lane": -1}, "id": "w"}]}


def opened(name: str, model: ScriptedModel, folder: Path) -> AbstractAsyncContextManager[Any]:
    """Open a contestant by its name."""
    if name == "ours":
        return planwright_at(model, folder)
    opening: AbstractAsyncContextManager[Any] = stock_agent(
        model, folder / "stock.db" if name == "stock" else None
    )
    return opening


@pytest.mark.parametrize("name", ["ours", "stock", "stock without a saver"])
async def test_a_job_calls_each_tool_of_its_script(name: str, tmp_path: Path) -> None:
    model = ScriptedModel(replies=[WORK, *page_calls(2)])
    async with opened(name, model, tmp_path) as agent:
        await job_of(agent, None if name == "stock without a saver" else "sync")()
    results = [str(message.content) for message in model.prompts[-1] if message.type == "tool"]
    for place, text in enumerate(("7.-1", page_text(0), page_text(1))):
        assert text in results[place]


async def test_a_job_whose_agent_was_stopped_is_no_job_done(tmp_path: Path) -> None:
    missing = {"content": "", "tool_calls": [{"name": "bench__nothing", "args": {}, "id": "n"}]}
    model = ScriptedModel(replies=[missing] * 40)
    async with planwright_at(model, tmp_path) as agent:
        with pytest.raises(RuntimeError, match="the job was not done"):
            await job_of(agent)()


def test_a_page_is_one_kilobyte_and_unlike_any_other() -> None:
    pages = {page_text(number) for number in range(-50, 50)}
    assert {len(page) for page in pages} == {PAGE_BYTES}
    assert len(pages) == 100
