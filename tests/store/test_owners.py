"""Who may still send an effect: for the program whoever may live, for a person whoever surely lives."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from planwright.store.owners import Life, Owners, living_sender, sender_of

OWNER = "vm:boot:4026532181:1:2050067:ef36"
LOOK = """
import sys
from pathlib import Path
from planwright.store.owners import Owners
print(Owners(Path(sys.argv[1])).life_of(sys.argv[2]))
"""


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
    effect = cast(sqlite3.Row, {"owner": OWNER, "status": "intent", "ended_at": None})
    assert bool(living_sender(connection, OWNER)) is for_the_program
    assert bool(sender_of(connection, effect)) is for_a_person
    connection.close()


def test_a_process_lives_on_for_others_when_its_host_has_been_renamed(tmp_path: Path) -> None:
    def seen_by_another() -> str:
        command = [sys.executable, "-c", LOOK, str(tmp_path), before]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    owners, agent_beside = Owners(tmp_path), Owners(tmp_path)
    before = str(owners.me()._replace(host="as-it-was-called"))
    assert (owners.life_of(before), agent_beside.life_of(before), seen_by_another()) == ("alive",) * 3
    owners.close()
    assert (agent_beside.life_of(before), seen_by_another()) == ("dead", "dead")
