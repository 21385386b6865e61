"""The treasury of a club: functions over one ledger; exact sums, dates, counters, big numbers, bytes."""

from __future__ import annotations

import base64
from collections import ChainMap, Counter, OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from types import MappingProxyType, SimpleNamespace
from typing import Annotated, Any, Literal, NamedTuple

import pandas as pd
from pydantic import BaseModel, Field, PositiveInt

from benchmarks.undeclared_model import World

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
Month = Annotated[str, Field(pattern=r"^\d{4}-\d{2}$")]
Euro = Annotated[Decimal, Field(max_digits=10, decimal_places=2)]


class Kind(Enum):
    """What a booking is for."""

    FEE = "fee"
    RENT = "rent"
    GIFT = "gift"


class Booking(NamedTuple):
    """One line of the ledger."""

    number: int
    day: date
    who: str
    amount: Decimal
    kind: Kind


class Reminder(BaseModel):
    """A letter about a fee that is due."""

    member: str
    amount: Euro
    level: PositiveInt = 1


@dataclass(frozen=True, slots=True)
class Balance:
    """What is there on a day."""

    day: date
    sums: MappingProxyType[str, Decimal]


class Book:
    """The ledger of this process; it is written anew for each task."""

    bookings: list[Booking]
    fees: dict[str, Decimal]
    closed: set[str]
    sent: list[str]
    receipts: dict[int, bytes]


def balance() -> Balance:
    """What is in the till and at the bank."""
    total = sum((each.amount for each in Book.bookings), Decimal(0))
    return Balance(date(2026, 3, 2), MappingProxyType({"bank": total, "till": Decimal("13.37")}))


def bookings_in(month: Month) -> list[Booking]:
    """The bookings of a month, as 2026-02."""
    return [each for each in Book.bookings if f"{each.day:%Y-%m}" == month]


def booking(number: int) -> Booking | Literal["none"]:
    """One booking by its number."""
    return next((each for each in Book.bookings if each.number == number), "none")


def unpaid_fees() -> Iterator[tuple[str, Decimal]]:
    """Who has not paid the fee, and how much it is."""
    paid = {each.who for each in Book.bookings if each.kind is Kind.FEE}
    yield from ((who, fee) for who, fee in Book.fees.items() if who not in paid)


def fee_of(member: str) -> Decimal | None:
    """What a member pays a year."""
    return Book.fees.get(member)


def ledger_table() -> pd.DataFrame:
    """The ledger by month and kind; NaN where there was nothing."""
    frame = pd.DataFrame(
        [(f"{each.day:%Y-%m}", each.kind.value, float(each.amount)) for each in Book.bookings],
        columns=["month", "kind", "amount"],
    )
    return frame.pivot_table(index="month", columns="kind", values="amount", aggfunc="sum")


def bookings_by_kind() -> Counter[Kind]:
    """How many bookings there are of each kind."""
    return Counter(each.kind for each in Book.bookings)


def biggest_gift() -> Booking | None:
    """The biggest gift so far."""
    gifts = [each for each in Book.bookings if each.kind is Kind.GIFT]
    return max(gifts, key=lambda each: each.amount, default=None)


def receipt(number: int) -> bytes:
    """The receipt of a booking, as a picture."""
    return Book.receipts[number]


def account_number() -> int:
    """The number of the account at the bank."""
    return 10**30 + 7


def settings_of_club() -> ChainMap[str, object]:
    """How the club is set up."""
    return ChainMap(
        {"name": "Chess club"}, {"name": "A club", "currency": "EUR", "founded": date(1921, 5, 1)}
    )


def treasurer() -> SimpleNamespace:
    """Who looks after the money."""
    return SimpleNamespace(name="Olga Prinz", since=date(2020, 1, 1))


def closed_months() -> set[str]:
    """Months that are closed."""
    return Book.closed


def book_payment(who: str, amount: Euro, kind: Kind, day: date = date(2026, 3, 2)) -> Booking:
    """Enter a booking."""
    if f"{day:%Y-%m}" in Book.closed:
        raise PermissionError(f"{day:%Y-%m} is closed")
    new = Booking(max(each.number for each in Book.bookings) + 1, day, who, amount, kind)
    Book.bookings.append(new)
    return new


def reverse_booking(number: int) -> Booking:
    """Enter the opposite of a booking."""
    old = next(each for each in Book.bookings if each.number == number)
    return book_payment(old.who, -old.amount, old.kind)


def change_fee(member: str, amount: Euro) -> OrderedDict[str, Decimal]:
    """Change what a member pays a year."""
    Book.fees[member] = amount
    return OrderedDict(Book.fees)


def remove_member(member: str) -> Decimal:
    """Strike a member off; returns their fee."""
    return Book.fees.pop(member)


def close_month(month: Month) -> frozenset[str]:
    """Close a month: nothing can be booked in it any more."""
    Book.closed.add(month)
    return frozenset(Book.closed)


def send_reminders(reminders: Sequence[Reminder]) -> Iterator[str]:
    """Send letters about fees, one after another."""
    for each in reminders:
        Book.sent.append(f"{each.member}: {each.amount} ({each.level})")
        yield Book.sent[-1]


def send_statement(month: Month, to: str) -> None:
    """Mail the statement of a month to somebody."""
    Book.sent.append(f"statement {month} to {to}")


def attach_receipt(number: int, picture: bytes) -> int:
    """Keep a receipt for a booking; returns its size."""
    Book.receipts[number] = picture
    return len(picture)


def _state() -> dict[str, Any]:
    return {
        "bookings": {str(b.number): f"{b.day} {b.who} {b.amount} {b.kind.value}" for b in Book.bookings},
        "fees": dict(Book.fees),
        "closed": dict.fromkeys(Book.closed, True),
        "sent": dict(enumerate(Book.sent)),
        "receipts": {str(number): len(picture) for number, picture in Book.receipts.items()},
    }


READS = (
    *(balance, bookings_in, booking, unpaid_fees, fee_of, ledger_table, bookings_by_kind, biggest_gift),
    *(receipt, account_number, settings_of_club, treasurer, closed_months),
)
WRITES = (
    *(book_payment, reverse_booking, change_fee, remove_member, close_month, send_reminders),
    *(send_statement, attach_receipt),
)


def treasury() -> World:
    """Open the ledger on the second of March."""
    Book.bookings = [
        Booking(1, date(2026, 1, 5), "Ben Adler", Decimal("60.00"), Kind.FEE),
        Booking(2, date(2026, 1, 31), "Town hall", Decimal("-150.25"), Kind.RENT),
        Booking(3, date(2026, 2, 14), "Eva Sorge", Decimal("500.00"), Kind.GIFT),
        Booking(4, date(2026, 2, 28), "Town hall", Decimal("-150.25"), Kind.RENT),
    ]
    Book.fees = {"Ben Adler": Decimal("60.00"), "Eva Sorge": Decimal("60.00"), "Leo Katz": Decimal("30.50")}
    Book.closed, Book.sent, Book.receipts = {"2026-01"}, [], {2: PNG}
    return World("treasury", (*READS, *WRITES), frozenset(each.__name__ for each in READS), _state)
