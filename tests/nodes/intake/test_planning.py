"""When a model is asked whether to plan, and what its vote changes."""

from __future__ import annotations

import pytest

from planwright.domain.run_context import PlanningMode
from planwright.nodes.intake.planning import decide_planning, voted, votes
from planwright.state.agent_state import PlanningDecision

GREY = "Search the mails then the notes"  # a sequence, one kind of verb: 2 points


def decision(mode: PlanningMode, score: int) -> PlanningDecision:
    return PlanningDecision(mode=mode, score=score, planned=True, complex=False)


@pytest.mark.parametrize(
    ("mode", "score", "has_fast", "asked"),
    [
        ("auto", 2, True, True),
        ("auto", 2, False, False),
        ("auto", 1, True, False),
        ("auto", 3, True, False),
        ("always", 2, True, False),
        ("never", 2, True, False),
        ("llm_decides", 0, False, True),
        ("llm_decides", 5, True, True),
    ],
)
def test_a_model_votes_in_the_grey_band_where_one_is_set_for_it(
    mode: PlanningMode, score: int, has_fast: bool, asked: bool
) -> None:
    assert votes(decision(mode, score), 3, has_fast) is asked


def test_the_vote_decides_over_the_score() -> None:
    grey = decide_planning(GREY, "auto", can_call=True)
    assert (grey.score, grey.agentic) == (2, True)
    planned = voted(grey, True, can_call=True)
    assert (planned.planned, planned.complex, planned.agentic) == (True, True, False)
    assert planned.signals[-1] == "the model says yes"
