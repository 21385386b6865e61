"""Log lines of a command: on stderr, from the level that the settings say, and none without."""

from __future__ import annotations

import json
import logging
import re
import sys

import pytest

from planwright.cli.session.logs import JsonLines, TextLines
from planwright.security.redaction.redactor import Redactor
from tests.cli.desk import Desk

SECRET = "sk-live-5f3c9a1b7d2e"
MEMBERS = ("time", "level", "logger", "event", "run_id", "thread_id", "message", "fields", "error")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

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


def test_a_worker_writes_a_json_object_for_each_record(desk: Desk) -> None:
    json_lines = {"PLANWRIGHT_LOGGING__LEVEL": "info", "PLANWRIGHT_LOGGING__FORMAT": "json"}
    assert desk.run("run", "--background", "What tickets are open?").code == 0
    done = desk.run("worker", "--until-idle", env=json_lines)
    records = [json.loads(line) for line in done.stderr.splitlines()]
    assert {tuple(record) for record in records} == {MEMBERS}
    (run_id, thread_id), *more = desk.rows("SELECT run_id, thread_id FROM runs")
    assert more == []
    of_run = [record for record in records if record["run_id"]]
    assert {(record["run_id"], record["thread_id"]) for record in of_run} == {(run_id, thread_id)}
    events = [record["event"] for record in of_run if record["event"]]
    assert (events[0], events[-1]) == ("task_started", "run_end")
    assert of_run[-1]["fields"]["status"] == "completed"
    assert [record["message"] for record in records if not record["run_id"]] == [
        "worker begins, 3 runs at once",
        "worker ends",
    ]


@pytest.mark.parametrize("formatter", [TextLines, JsonLines])
def test_no_secret_is_in_a_line(formatter: type[TextLines | JsonLines]) -> None:
    lines = formatter(Redactor({"api_key": SECRET}))
    try:
        raise ValueError(f"the server said: {SECRET}")
    except ValueError:
        error = sys.exc_info()
    record = logging.LogRecord("planwright.graph", logging.ERROR, __file__, 1, "sent %s", (SECRET,), error)
    record.thread_id = f"thread of {SECRET}"
    written = lines.format(record)
    assert SECRET not in written
    assert "sent [REDACTED api_key]" in written
    assert "ValueError: the server said: [REDACTED api_key]" in written


def test_a_json_record_is_one_line_whatever_is_in_it() -> None:
    record = logging.LogRecord("planwright.web", logging.WARNING, __file__, 1, "two\nlines", (), None)
    written = JsonLines(Redactor()).format(record)
    assert "\n" not in written
    line = json.loads(written)
    assert (line["level"], line["logger"], line["message"]) == ("warning", "planwright.web", "two\nlines")
    assert TIME.fullmatch(line["time"])
