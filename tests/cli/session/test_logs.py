"""Log lines of a command: on stderr, from the level that the settings say, and none without."""

from __future__ import annotations

import re

from tests.cli.desk import Desk

LINE = re.compile(
    r"^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z INFO planwright\.graph: run_start run_id=run_\w+ ", re.MULTILINE
)


def test_logs_go_to_stderr_from_the_level_that_the_settings_say(desk: Desk) -> None:
    asking = ("run", "What tickets are open?")
    quiet = desk.run(*asking)
    loud = desk.run(*asking, env={"PLANWRIGHT_LOGGING__LEVEL": "info"})
    assert " planwright." not in quiet.stderr
    assert LINE.search(loud.stderr)
    assert " DEBUG " not in loud.stderr
    assert loud.stdout == quiet.stdout
