"""The file of a mark: it only rises, and what of it cannot be read says nothing."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from planwright.store.marks.mark_file import SLOT, SLOTS, BegunEffect, Head, MarkFile


def begun(place: int, **changes: object) -> BegunEffect:
    """The effect in the row of a number, begun with an entry of twice that."""
    values: dict[str, object] = {
        "n": 2 * place,
        "hash": f"{place:064x}",
        "place": place,
        "key": f"{place:064d}",
        "first_key": None,
        "run_id": "run_1",
        "thread_id": "thread_1",
        "step_uid": "step_1",
        "attempt": 1,
        "ordinal": place,
        "capability": "mail.send",
        "effect": "blind",
        "args_hash": "a" * 64,
        "unasked": 0,
        "intended_at": "2026-11-21T12:00:00+00:00",
    }
    return BegunEffect.model_validate({**values, **changes})


@pytest.fixture
def file(tmp_path: Path) -> MarkFile:
    return MarkFile(tmp_path / "owners" / "begun")


def test_no_file_is_no_mark(file: MarkFile) -> None:
    assert (file.head(), file.effects()) == (None, [])


def test_what_is_written_is_read_again_by_its_owner_alone(file: MarkFile) -> None:
    effects = [begun(1), begun(2, first_key="f" * 64, thread_id="Thread of Ünal")]
    file.write(effects[-1].head, effects)
    assert (file.head(), file.effects()) == (Head(4, f"{2:064x}"), effects)
    assert [effect.sent_key[0] for effect in effects] == ["0", "f"]
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700


def test_a_mark_is_lowered_only_from_where_it_is_said_to_stand(file: MarkFile) -> None:
    high, low = Head(9, "9" * 64), Head(3, "3" * 64)
    file.write(high)
    file.write(low)
    assert file.head() == high
    file.write(low, instead_of=Head(9, "8" * 64))
    assert file.head() == high
    file.write(low, instead_of=high)
    assert file.head() == low


def test_of_many_effects_the_newest_stay(file: MarkFile) -> None:
    effects = [begun(place) for place in range(1, SLOTS + 6)]
    file.write(effects[-1].head, effects)
    assert file.effects() == effects[5:]
    assert file.path.stat().st_size == SLOT * (SLOTS + 1)


def test_many_writers_leave_the_highest(file: MarkFile) -> None:
    effects = [begun(place) for place in range(1, 60)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda effect: file.write(effect.head, [effect]), reversed(effects)))
    assert (file.head(), file.effects()) == (effects[-1].head, effects)


@pytest.mark.parametrize("place", [3, SLOT - 4])
def test_a_slot_that_was_changed_says_nothing(file: MarkFile, place: int) -> None:
    effects = [begun(1), begun(2)]
    file.write(effects[-1].head, effects)
    data = bytearray(file.path.read_bytes())
    data[3 * SLOT + place] ^= 1
    file.path.write_bytes(data)
    assert (file.head(), file.effects()) == (effects[-1].head, effects[:1])


def test_a_head_that_was_changed_is_the_newest_effect(file: MarkFile) -> None:
    effects = [begun(2), begun(1)]
    file.write(begun(2).head, effects)
    with file.path.open("rb+") as raw:
        raw.write(b"?")
    assert file.head() == begun(2).head


def test_a_file_that_was_cut_has_what_is_left(file: MarkFile) -> None:
    effects = [begun(1), begun(2)]
    file.write(effects[-1].head, effects)
    os.truncate(file.path, 3 * SLOT + 100)
    assert (file.head(), file.effects()) == (effects[-1].head, effects[:1])


def test_an_effect_too_long_for_a_slot_is_told_of_by_the_head(file: MarkFile) -> None:
    long = begun(1, capability="a." + "x" * SLOT)
    file.write(long.head, [long])
    assert (file.head(), file.effects()) == (long.head, [])


def test_no_room_is_an_error(tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        MarkFile(full).write(Head(1, "1" * 64))
