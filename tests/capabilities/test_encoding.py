"""Values of libraries as JSON: nothing of them is lost, and nothing takes all there is."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import date
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.declaration import capability
from planwright.capabilities.encoding import ANY_RESULT, MOST_ITEMS, MOST_RESULT, as_json
from planwright.capabilities.gateway.invoke import invoke
from planwright.checkpoints.serde import storable
from planwright.domain.errors import EffectInDoubt, OverLimit
from planwright.records.records import open_records
from planwright.security.jail import Jail
from planwright.settings.settings import load
from tests.patience import PATIENCE_S

Call = Callable[[Any], Awaitable[Any]]


class Sum(BaseModel):
    """A sum, and the bytes that it was read from."""

    read: bytes
    total: int


class Table:
    """A table of a library that pydantic does not know."""

    def to_dict(self, orient: str) -> dict[str, Any]:
        """Spell it in Python's own types."""
        return {"columns": ["city"], "index": [0], "data": [["Rome"]], "orient": orient}


@pytest.fixture
def call(tmp_path: Path) -> Call:
    """Call a function once, as a blind capability."""

    async def call(function: Any) -> Any:
        context = CallContext(load(tmp_path), Jail(tmp_path), open_records(tmp_path).memories)
        declared = capability("odd.deed", mode="local_write")(function)
        return await invoke(declared, {}, context, PATIENCE_S)

    return call


def test_numbers_and_arrays_of_numpy() -> None:
    numpy = pytest.importorskip("numpy")
    values = [numpy.float32(1.5), numpy.int64(3), numpy.bool_(True), numpy.float64("nan"), numpy.str_("a")]
    assert as_json(values) == [1.5, 3, True, "NaN", "a"]
    assert as_json(numpy.array([[1.0, float("inf")]])) == [[1.0, "Infinity"]]
    assert as_json(numpy.datetime64("2026-11-27T04:35", "ns")) == "2026-11-27T04:35:00.000000000"
    assert as_json(numpy.array(["2026-11-27"], "M8[D]")) == ["2026-11-27"]
    assert as_json(numpy.longdouble(2)) == "2.0"


def test_tables_of_pandas_keep_the_labels_of_their_rows() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"city": ["Rome", "Rome"], "area": [1.5, float("nan")]})
    table["day"] = [pandas.Timestamp("2026-11-27"), pandas.NaT]
    spelled: Any = as_json(table)
    assert spelled["columns"] == ["city", "area", "day"]
    assert spelled["data"] == [["Rome", 1.5, "2026-11-27T00:00:00"], ["Rome", "NaN", None]]
    assert as_json(table.groupby("city")["area"].sum())["index"] == ["Rome"]  # type: ignore[index, call-overload]
    assert as_json(pandas.NA) is None


def test_a_namespace_is_spelled_by_its_names() -> None:
    inner = SimpleNamespace(since=date(2020, 1, 1), share=float("nan"))
    assert as_json(SimpleNamespace(name="Olga", job=inner)) == {
        "name": "Olga",
        "job": {"since": "2020-01-01", "share": "NaN"},
    }


def test_an_array_that_is_too_large_is_not_read_out() -> None:
    class Array:
        size = MOST_RESULT

        def tolist(self) -> list[int]:
            raise AssertionError("it was read out")

    with pytest.raises(OverLimit):
        as_json([Array()])


@pytest.mark.long
def test_a_value_that_repeats_itself_is_not_multiplied() -> None:
    value: tuple[Any, ...] = ("x" * 100,)
    for _ in range(60):
        value = (value, value)
    with pytest.raises(OverLimit):
        as_json(value)


def test_keys_that_are_spelled_alike_lose_no_value() -> None:
    assert as_json({1: "a", "1": "b"}) == [[1, "a"], ["1", "b"]]
    assert as_json({(1, 2): "a", None: "b"}) == {"[1,2]": "a", "null": "b"}


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1])
def test_a_whole_number_of_any_size_can_be_stored_and_keeps_its_digits(number: int) -> None:
    spelled = as_json([number])
    storable(spelled)
    assert spelled in ([number], [str(number)])


def test_a_whole_number_that_python_does_not_print_keeps_its_digits() -> None:
    assert as_json(10**5000) == "1" + "0" * 5000


def test_a_model_that_json_cannot_hold_is_spelled_field_by_field() -> None:
    spelled: Any = as_json(Sum(read=b"\xff", total=10**20))
    assert (spelled["read"]["base64"], spelled["total"]) == ("/w==", str(10**20))


def test_what_only_breaks_is_named_by_its_class() -> None:
    class Broken:
        def __str__(self) -> str:
            raise ValueError("no words")

        def tolist(self) -> object:
            raise RuntimeError("no list")

    assert as_json([Broken()]) == ["<Broken>"]


def test_any_result_takes_what_has_no_end() -> None:
    spelled = ANY_RESULT.dump_python(ANY_RESULT.validate_python({"n": itertools.count()}))
    assert spelled["n"][MOST_ITEMS:] == [{"not_kept": "more than 10,000 items"}]


async def test_what_is_left_to_be_awaited_is_awaited(call: Call) -> None:
    done: list[str] = []

    async def deed(name: str) -> str:
        done.append(name)
        return name

    def lazy() -> Any:
        """Hand out what does the deed."""
        return partial(deed, "a")()

    async def numbers() -> AsyncIterator[int]:
        """Count, and do a deed on the way."""
        yield 1
        done.append("b")
        yield 2

    assert (await call(lazy), await call(numbers), done) == ("a", [1, 2], ["a", "b"])


async def test_an_iterator_that_breaks_off_is_a_call_that_broke_off(call: Call) -> None:
    def numbers() -> Any:
        """Count up to an error."""
        yield 1
        raise RuntimeError("enough")

    with pytest.raises(EffectInDoubt, match="RuntimeError: enough"):
        await call(numbers)


@pytest.mark.long
@pytest.mark.parametrize("deep", [True, False], ids=["deep", "endless"])
async def test_what_contains_itself_is_done_and_not_kept(call: Call, deep: bool) -> None:
    def deed() -> Any:
        """Return a list that is in itself."""
        value: list[Any] = []
        value.append(value) if deep else value.extend([value, value])
        return value

    assert "was done" in (await call(deed))["not_kept"]


async def test_a_type_that_pydantic_does_not_know_declares_nothing_of_a_result(call: Call) -> None:
    def deed() -> Table:
        """Return a table."""
        return Table()

    assert (await call(deed))["data"] == [["Rome"]]
