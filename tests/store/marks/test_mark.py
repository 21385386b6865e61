"""A store that lacks effects that were begun in it is read-only until a person says go, and no other is."""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from planwright.domain.errors import (
    CapabilityForbidden,
    GateError,
    LeaseLost,
    RunError,
    StoreFailed,
    StoreWentBack,
)
from planwright.records.audit.verification import verify_chain
from planwright.records.records import Records
from planwright.store.marks.mark_file import SLOTS, Head, MarkFile
from planwright.store.marks.setback import setbacks
from tests.store.marks.conftest import NOW, SECRET, Past, begin, effect_call
from tests.store.marks.test_mark_file import begun

pytestmark = pytest.mark.sqlite
OWN = "INSERT INTO own_parts (run_id, tenant, name) VALUES ('run_1', 'acme', 'a')"


def accept(records: Records, id_: str, by: str = "kim") -> list[str]:
    """Say go; name the effects that are in doubt by it, by the beginning of their keys."""
    _, doubted = records.database.call("accept", lambda c: records.mark.accept(c, id_, by))
    return [effect.step_uid for effect in doubted]


def lacking(records: Records) -> tuple[str, list[str]]:
    """Give the id of what a store lacks, and the steps of the effects; empty where it lacks nothing."""
    setback = records.database.look(lambda c: records.mark.compare(c).setback)
    return (setback.id, [effect.step_uid for effect in setback.effects]) if setback else ("", [])


def test_a_store_that_was_put_back_begins_nothing(past: Past) -> None:
    kept = past.remember()
    past.begin("ben", "carl")
    past.put_back(kept)
    with past.opened() as records:
        with pytest.raises(StoreWentBack) as refused:
            asyncio.run(records.leases.take(past.run, 60))
        told: list[BaseException] = []
        riding = records.database.submit(
            "own", lambda c: c.execute(OWN).rowcount, rides=True, lost=told.append
        )
        assert isinstance(riding.exception(), StoreWentBack)
        assert told == [riding.exception()]
        assert refused.value.cause.startswith(
            "the store lacks 2 effects that were begun: mail.send on thread "
        )
        assert "planwright db accept" in refused.value.next_step
        assert records.database.look(lambda c: c.execute("SELECT run_id FROM runs").fetchone()[0]) == "run_1"
        assert lacking(records)[1] == ["step_ben", "step_carl"]
    with pytest.raises(StoreWentBack):
        past.begin("dora")


def test_a_store_goes_on_once_a_person_has_said_so(past: Past) -> None:
    kept = past.remember()
    past.begin("ben", "carl")
    past.put_back(kept)
    with past.opened() as records:
        id_, _ = lacking(records)
        with pytest.raises(GateError, match="not 12345678"):
            accept(records, "12345678")
        assert accept(records, id_) == ["step_ben", "step_carl"]
        with pytest.raises(RunError, match="lacks nothing"):
            accept(records, id_)
    fresh = [(known.status, known.fresh) for known in past.begin("anna", "ben", "dora")]
    assert fresh == [("done", False), ("in_doubt", False), ("intent", True)]
    with past.opened() as records:
        findings, _ = records.database.look(verify_chain)
        told = [(entry.by, len(entry.effects)) for _, entry in records.database.look(setbacks)]
    assert (findings, told) == ([], [("", 2), ("kim", 2)])


def test_the_same_call_is_refused_under_any_key_until_somebody_has_decided(past: Past) -> None:
    kept = past.remember()
    past.begin("ben")
    past.put_back(kept)
    with past.opened() as records:
        accept(records, lacking(records)[0])
        lease = asyncio.run(records.leases.take(past.run, 60))
        again = replace(effect_call(lease, "ben"), step_uid="other")
        with pytest.raises(CapabilityForbidden, match=r"nobody knows whether mail\.send has happened"):
            asyncio.run(records.ledger.intend(again, NOW))


def test_arguments_are_on_record_again_once_the_call_is(past: Past) -> None:
    kept = past.remember()
    past.begin("ben")
    past.put_back(kept)
    query = "SELECT args FROM effects WHERE step_uid = 'step_ben'"
    with past.opened() as records:
        accept(records, lacking(records)[0])
        assert "gone-with-the-store" in records.database.look(lambda c: c.execute(query).fetchone()[0])
    past.begin("ben")
    with past.opened() as records:
        assert SECRET in records.database.look(lambda c: c.execute(query).fetchone()[0])
        assert records.database.look(verify_chain)[0] == []


def test_a_mark_holds_no_arguments(past: Past) -> None:
    assert b"mail.send" in past.mark.read_bytes()
    assert SECRET.encode() not in past.mark.read_bytes()


async def test_a_process_that_has_lost_its_run_writes_no_mark(past: Past) -> None:
    with past.opened() as records, past.opened() as other:
        lease = await records.leases.take(past.run, 60)
        await records.leases.release(lease)
        await other.leases.take(past.run, 60)
        past.mark.unlink()
        with pytest.raises(LeaseLost):
            await records.ledger.intend(effect_call(lease, "ben"), NOW)
        assert not past.mark.exists()


def test_a_process_that_died_between_the_intent_and_the_mark_is_no_alarm(past: Past) -> None:
    before = past.mark.read_bytes()
    past.begin("ben")
    past.mark.write_bytes(before)
    with past.opened() as records:
        assert lacking(records) == ("", [])
        records.database.call("open", lambda _: None)
    assert before != past.mark.read_bytes()
    kept = past.remember()
    past.begin("carl")
    past.put_back(kept)
    with past.opened() as records:
        assert lacking(records)[1] == ["step_carl"]


def test_a_copy_without_a_mark_gets_a_fresh_one(past: Past, tmp_path: Path) -> None:
    kept = past.remember()
    past.begin("ben")
    elsewhere = Past(tmp_path / "elsewhere", past.run)
    elsewhere.folder.mkdir()
    shutil.copy(past.file, elsewhere.file)
    assert [known.fresh for known in elsewhere.begin("ben", "carl")] == [False, True]
    elsewhere.put_back(kept)
    with elsewhere.opened() as records:
        assert lacking(records)[1] == ["step_ben", "step_carl"]


def test_a_store_that_is_gone_lacks_all(past: Past) -> None:
    past.file.unlink()
    with pytest.raises(StoreWentBack, match="1 effect that was begun"):
        past.begin("ben")


def test_a_store_that_goes_back_behind_what_a_person_said_is_another_alarm(past: Past) -> None:
    kept = past.remember()
    past.begin("ben")
    for _ in range(2):
        past.put_back(kept)
        with past.opened() as records:
            id_, steps = lacking(records)
            assert steps == ["step_ben"]
            accept(records, id_)
        with past.opened() as records:
            records.database.call("open", lambda _: None)
            assert lacking(records) == ("", [])


def test_what_a_person_has_let_go_is_not_told_of_again(past: Past) -> None:
    kept = past.remember()
    past.begin("ben")
    past.put_back(kept)
    with past.opened() as records:
        accept(records, lacking(records)[0])
    kept = past.remember()
    past.begin("carl")
    past.put_back(kept)
    with past.opened() as records:
        assert lacking(records)[1] == ["step_carl"]


def test_a_process_that_was_told_goes_on_when_another_one_has_said_go(past: Past) -> None:
    kept = past.remember()
    past.begin("ben")
    past.put_back(kept)
    with past.opened() as waiting, past.opened() as other:
        for _ in range(2):
            with pytest.raises(StoreWentBack):
                asyncio.run(waiting.leases.take(past.run, 60))
        accept(other, lacking(other)[0])
        assert asyncio.run(waiting.leases.take(past.run, 60)).run_id == "run_1"


def test_a_process_whose_file_was_replaced_begins_nothing(past: Past) -> None:
    kept = past.remember()
    with past.opened() as records:
        lease = asyncio.run(records.leases.take(past.run, 60))
        os.replace(kept, past.file)
        with pytest.raises(StoreFailed, match="another file was put in its place"):
            asyncio.run(records.ledger.intend(effect_call(lease, "ben"), NOW))


def test_two_processes_raise_one_mark(past: Past) -> None:
    kept = past.remember()

    async def both(one: Records, other: Records) -> None:
        for number in range(4):
            await begin(one, past.run, f"one_{number}")
            await begin(other, past.run, f"other_{number}")

    with past.opened() as one, past.opened() as other:
        asyncio.run(both(one, other))
    past.put_back(kept)
    with past.opened() as records:
        assert len(lacking(records)[1]) == 8


def test_effects_that_are_begun_at_once_are_all_in_the_mark(past: Past) -> None:
    kept = past.remember()

    async def at_once(records: Records) -> None:
        lease = await records.leases.take(past.run, 60)
        calls = [effect_call(lease, f"to_{number}") for number in range(30)]
        await asyncio.gather(*(records.ledger.intend(call, NOW) for call in calls))

    with past.opened() as records:
        asyncio.run(at_once(records))
    past.put_back(kept)
    with past.opened() as records:
        assert len(lacking(records)[1]) == 30


def test_what_cannot_be_marked_is_not_begun(past: Past) -> None:
    past.mark.unlink()
    past.mark.symlink_to("/dev/full")
    with past.opened() as records:
        lease = asyncio.run(records.leases.take(past.run, 60))
        with pytest.raises(StoreFailed, match="no space left"):
            asyncio.run(records.ledger.intend(effect_call(lease, "ben"), NOW))
        past.mark.unlink()
        assert not asyncio.run(records.ledger.intend(effect_call(lease, "ben"), NOW)).fresh
    assert MarkFile(past.mark).effects()[-1].step_uid == "step_ben"


def test_a_mark_that_cannot_be_read_is_no_mark_that_says_nothing(past: Past) -> None:
    past.mark.unlink()
    past.mark.mkdir()
    with pytest.raises(StoreFailed, match="begun"):
        past.begin("ben")


@pytest.mark.parametrize("count", [SLOTS, SLOTS - 1])
def test_what_the_mark_has_no_details_of_is_said_to_be_possible(past: Past, count: int) -> None:
    effects = [begun(place, n=1000 + place) for place in range(1, count + 1)]
    past.mark.unlink()
    MarkFile(past.mark).write(effects[-1].head, effects)
    with pytest.raises(StoreWentBack) as refused:
        past.begin("ben")
    words = f"{'at least ' if count == SLOTS else ''}{count:,} effects that were begun"
    assert f"the store lacks {words}: " in refused.value.cause


def test_a_mark_without_details_is_an_alarm(past: Past) -> None:
    past.mark.unlink()
    MarkFile(past.mark).write(Head(99, "9" * 64))
    with pytest.raises(StoreWentBack, match=r"^the store lacks effects that were begun\n"):
        past.begin("ben")
    with past.opened() as records:
        assert accept(records, "99999999") == []
    assert past.begin("ben")[0].fresh


def test_effects_of_a_run_that_is_not_on_record_are_told_of_alone(past: Past) -> None:
    past.file.unlink()
    with past.opened() as records:
        id_, steps = lacking(records)
        assert (accept(records, id_), steps) == ([], ["step_anna"])
    assert past.begin("anna")[0].fresh
