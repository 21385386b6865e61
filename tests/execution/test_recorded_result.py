"""The result of a step that brought nothing, as the record of its effect has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planwright.domain.plan import PlanStep
from planwright.domain.step_ends import CANCELLED, bare_result
from planwright.domain.verified_step import VerifiedStep
from planwright.execution.recorded_result import by_record
from planwright.records.effects.ledger import Recorded
from planwright.security.redaction.redactor import Redactor
from planwright.store.blobs import Blobs


def checked() -> VerifiedStep:
    fixed = {
        "uid": "u1",
        "needs": (),
        "effect": "idempotent",
        "mode": "network",
        "risk": "Low",
        "gated": False,
    }
    return VerifiedStep.model_validate({"step": PlanStep(id="s1", capability="work.send"), **fixed})


@pytest.mark.parametrize(
    ("known", "status", "code"),
    [
        (None, "skipped", CANCELLED),
        ({"status": "failed", "code": "rejected"}, "skipped", CANCELLED),
        ({"status": "failed", "code": "unavailable"}, "failed", "unavailable"),
        ({"status": "intent"}, "failed", "in_doubt"),
        ({"status": "done", "result": 7}, "completed", ""),
    ],
)
async def test_a_step_that_a_cancelled_run_leaves_ends_as_its_effect_did(
    tmp_path: Path, known: dict[str, Any] | None, status: str, code: str
) -> None:
    recorded = known and Recorded(fresh=False, error="nobody answered", **known)
    left = bare_result(checked(), "skipped", code=CANCELLED, error="cancelled by kim")
    result = await by_record(checked(), left, recorded or None, Blobs(tmp_path, Redactor()), 1000)
    assert (result.status, result.code) == (status, code)
