"""Who may still send an effect: for the program whoever may live, for a person whoever surely lives."""

from __future__ import annotations

import sqlite3
from typing import cast

import pytest

from planwright.checkpoints.ownership.owners import Life, living_sender, sender_of

OWNER = "vm:boot:4026532181:1:2050067:ef36"


@pytest.mark.parametrize(
    ("life", "for_the_program", "for_a_person"),
    [("alive", True, True), ("unknown", True, False), ("dead", False, False)],
)
def test_a_person_may_decide_where_nobody_can_tell_whether_a_sender_lives(
    life: Life, for_the_program: bool, for_a_person: bool
) -> None:
    class Server(sqlite3.Connection):
        """A connection that knows how its owners are."""

        def life_of(self, owner: str) -> Life:
            return life

    connection = sqlite3.connect(":memory:", factory=Server)
    effect = cast(sqlite3.Row, {"owner": OWNER, "status": "intent"})
    assert bool(living_sender(connection, OWNER)) is for_the_program
    assert bool(sender_of(connection, effect)) is for_a_person
    connection.close()
