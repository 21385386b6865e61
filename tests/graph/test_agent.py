"""An agent is opened over a folder, which is made for it, and closed by `with` or `async with`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableConfig

from planwright.domain.errors import SetupError
from planwright.graph import RunContext, open_agent
from planwright.models.scripted import ScriptedModel


def test_with_closes_it_and_its_folder_is_made(tmp_path: Path) -> None:
    with open_agent(tmp_path / "new" / "workspace") as agent:
        out = agent.invoke(None, agent.call("datetime.now"))
    assert out["status"] == "completed"
    open_files = [os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    assert not [name for name in open_files if name.startswith(str(tmp_path))]


async def test_async_with_closes_it(tmp_path: Path) -> None:
    async with open_agent(tmp_path / "new") as agent:
        out = await agent.ainvoke(None, await agent.acall("datetime.now"))
    assert out["status"] == "completed"


def test_an_error_inside_comes_out(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), open_agent(tmp_path):
        raise ZeroDivisionError


def test_a_file_is_no_workspace(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SetupError, match="file is no folder"):
        open_agent(tmp_path / "file")


def test_a_name_of_a_model_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="`model` is a str") as refused:
        open_agent(tmp_path, model="openai:gpt-5")  # type: ignore[arg-type]
    assert "init_chat_model" in refused.value.next_step


class WithoutTools(ScriptedModel):
    """A model whose class has the method, and does not have what it does."""

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        """Be asked for what is not there."""
        raise NotImplementedError


def test_a_model_that_takes_no_tools_ends_its_run_and_is_named(tmp_path: Path) -> None:
    config: RunnableConfig = {"configurable": {"thread_id": "one"}}
    request = {"messages": [("user", "What is the capital of France?")]}
    with open_agent(tmp_path, model=WithoutTools(replies=["Paris"])) as agent:
        out = agent.invoke(request, config)
    assert out["status"] == "failed"
    assert "WithoutTools takes no tools" in out["answer"]


def test_a_provider_that_is_none_is_refused_beside_a_model_of_ones_own(tmp_path: Path) -> None:
    config: RunnableConfig = {"configurable": {"thread_id": "one"}}
    request = {"messages": [("user", "What is the capital of France?")]}
    with open_agent(tmp_path, model=ScriptedModel(replies=["Paris"])) as agent:
        out = agent.invoke(request, config, context=RunContext(provider="nobody"))
    assert out["status"] == "failed"
    assert "there is no provider 'nobody'" in out["answer"]


def test_a_server_that_is_missing_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"one": {"comand": "sh"}}}', "utf-8")
    with open_agent(tmp_path):
        (message,) = caplog.messages
    assert "the MCP server `one` has no field `comand`; did you mean `command`?" in message
