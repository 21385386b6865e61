"""`planwright eval`: figures and a drawing, a case of an approved run, and what is planned of it later."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Waiting
    from tests.cli.desk import Desk


@pytest.mark.long
def test_an_approved_run_becomes_a_case_that_is_planned_anew(desk: Desk, waiting: Waiting) -> None:
    refused = desk.run("eval", "add", waiting.thread_id, "job")
    assert refused.code == 2, refused.stderr
    assert "nobody has approved a plan" in refused.stderr
    assert desk.run("eval", "run").code == 2
    assert desk.run("approve", waiting.gate_id, "--no-input").code == 0
    for name in ("job", "changed"):
        assert desk.run("eval", "add", waiting.thread_id, name).code == 0
    path = desk.folder / "evals" / "changed.json"
    case = json.loads(path.read_text())
    assert desk.run("eval", "run").code == 0
    case["plan"][0]["capability"] = "mail.send"
    path.write_text(json.dumps(case))
    table = desk.run("eval", "run")
    assert (table.code, "2 cases, 1 failed" in table.stdout) == (1, True)
    answer = desk.run("eval", "run", "--json").json
    outcomes = {row["case"]: row["outcome"] for row in answer["cases"]}
    assert (outcomes, answer["failed"]) == ({"job": "same", "changed": "other plan"}, ["changed"])
    assert desk.run("eval", "run", "job", "--strict").code == 0
    bad = desk.run("eval", "add", waiting.thread_id, "../up")
    assert "is no name of a case" in bad.stderr


def test_figures_are_drawn_into_a_file(desk: Desk, waiting: Waiting) -> None:
    assert desk.run("approve", waiting.gate_id, "--no-input").code == 0
    drawn = desk.run("eval", "--by", "risk", "--plot", "shares.svg")
    assert drawn.code == 0, drawn.stderr
    assert (desk.folder / "shares.svg").read_text("utf-8").startswith("<svg")
    nowhere = desk.run("eval", "--plot", "no/such/shares.svg")
    assert nowhere.code == 2
    assert "cannot be written" in nowhere.stderr
