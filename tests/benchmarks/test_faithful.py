"""A short form of `faithful`, and sweeps that see what is sent otherwise than the arguments say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.faithful import Change, sweep_mails, sweep_requests

pytestmark = pytest.mark.enable_socket


@pytest.mark.long
async def test_mails_arrive_as_their_arguments_say_or_are_refused_unsent(tmp_path: Path) -> None:
    made = await sweep_mails(tmp_path, 200, seed=7)
    assert made.failures == []
    assert made.arrived > made.refused > 0
    assert made.arrived + made.refused == 200


@pytest.mark.parametrize("seed", [7, 8])  # odd: hosts that honour a key; even: hosts that do not
async def test_requests_arrive_as_their_arguments_say_or_are_refused_unsent(
    tmp_path: Path, seed: int
) -> None:
    made = await sweep_requests(tmp_path, 100, seed=seed)
    assert made.failures == []
    assert made.arrived > made.refused > 0


def changed(**values: Any) -> Change:
    """Build a defect that calls with other values for some arguments."""
    return lambda args: {**args, **values}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("defect", "what"),
    [
        (changed(bcc=["mallory@example.com"]), "recipients"),
        (changed(to=["mallory@example.com"]), "to"),
        (changed(cc=["mallory@example.com"]), "cc"),
        (changed(subject="other"), "subject"),
        (changed(text="other"), "text"),
        (changed(attachments=[]), "attachments"),
    ],
)
async def test_a_mail_that_says_something_else_is_seen(tmp_path: Path, defect: Change, what: str) -> None:
    made = await sweep_mails(tmp_path, 30, seed=7, change=defect)
    assert any(what in failure.what.split(", ") for failure in made.failures)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("defect", "what"),
    [
        (changed(method="DELETE", body=None, data=None), "method"),
        (
            lambda args: {**args, "url": f"{args['url'].partition('#')[0]}x"} if "url" in args else args,
            "path",
        ),
        (changed(headers={"x-other": "1"}), "headers"),
        (changed(headers={"x-other": "1"}), "other headers"),
        (lambda args: {**args, "body": "other"} if "body" in args else args, "body"),
        (changed(text="other"), "body"),
        (changed(channel="query"), "path"),
    ],
)
async def test_a_request_that_is_another_is_seen(tmp_path: Path, defect: Change, what: str) -> None:
    made = await sweep_requests(tmp_path, 60, seed=7, change=defect)
    assert any(what in failure.what.split(", ") for failure in made.failures)
