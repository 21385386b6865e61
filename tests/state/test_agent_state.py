"""A state that somebody took the plan out of: a clear error, and a command that ends the run."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from planwright.domain.errors import RunError
from planwright.graph import open_agent


def test_a_plan_that_was_taken_out_is_told_with_the_way_to_end_the_run(tmp_path: Path) -> None:
    agent, config = open_agent(tmp_path), RunnableConfig(configurable={"thread_id": "t"})
    try:
        agent.invoke({"messages": [("user", "Save hello to a.txt")]}, config)
        agent.update_state(config, {"plan": None})
        with pytest.raises(RunError, match=r"has no plan where it needs one") as refused:
            agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
    finally:
        agent.close()
    assert refused.value.next_step.startswith("end it: planwright cancel run_")
    assert not (tmp_path / "a.txt").exists()
