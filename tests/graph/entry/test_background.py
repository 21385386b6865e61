"""What can be queued, and for how long."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from planwright.domain.errors import SetupError
from planwright.graph import open_agent


@pytest.mark.parametrize("ttl_s", [0, -1, math.nan, math.inf, 1e12, 1e300])
def test_a_session_expires_after_some_time_and_within_ten_years(tmp_path: Path, ttl_s: float) -> None:
    with open_agent(tmp_path) as agent, pytest.raises(SetupError, match="a session cannot expire"):
        agent.enqueue("List the files", ttl_s=ttl_s)


def test_a_session_may_last_for_years(tmp_path: Path) -> None:
    with open_agent(tmp_path) as agent:
        assert agent.enqueue("List the files", thread_id="t", ttl_s=9 * 365 * 86_400)
