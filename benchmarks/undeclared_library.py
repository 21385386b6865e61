"""A library: coroutines, wrapped and cached functions; pydantic models, sets, UUIDs, dates, tuples."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from datetime import date, timedelta
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any, ClassVar, ParamSpec, TypeVar
from uuid import UUID, uuid5

from pydantic import BaseModel, Field

from benchmarks.undeclared_model import World

P = ParamSpec("P")
R = TypeVar("R")
TODAY = date(2026, 3, 2)
SPACE = UUID("00000000-0000-4000-8000-000000000000")


class Shelf(StrEnum):
    """Where a book stands."""

    FICTION = "fiction"
    SCIENCE = "science"
    CHILDREN = "children"


class Book(BaseModel):
    """One copy of a book."""

    number: int
    title: str
    author: str
    shelf: Shelf
    rating: float | None = None
    lent_to: str | None = None
    due: date | None = None


class Entry(BaseModel):
    """What is to be known of a new book."""

    title: str = Field(min_length=1)
    author: str
    shelf: Shelf = Shelf.FICTION


class Member(BaseModel):
    """Somebody who may borrow."""

    card: UUID
    name: str
    mail: str | None
    fines: float = 0.0


def logged(function: Callable[P, R]) -> Callable[P, R]:
    """Note that a function was called, as people wrap theirs."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    return wrapper


class Library:
    """The library of this process; it is filled anew for each task."""

    books: ClassVar[dict[int, Book]] = {}
    members: ClassVar[dict[str, Member]] = {}
    holds: ClassVar[defaultdict[int, list[str]]] = defaultdict(list)
    letters: ClassVar[list[str]] = []


async def search_books(text: str, shelf: Shelf | None = None) -> list[Book]:
    """Search titles and authors.

    Args:
        text: a part of the title or of the author's name
        shelf: only books that stand there
    """
    found = (b for b in Library.books.values() if text.lower() in f"{b.title} {b.author}".lower())
    return [book for book in found if shelf in (None, book.shelf)]


async def get_book(number: int) -> Book | None:
    """One book by its number."""
    return Library.books.get(number)


async def overdue_books(day: date = TODAY) -> AsyncIterator[Book]:
    """Books that should be back by a day, one after another."""
    for book in Library.books.values():
        if book.due is not None and book.due < day:
            yield book


@logged
def find_member(name: str) -> Member | None:
    """Look a member up by a part of their name."""
    return next((m for key, m in Library.members.items() if name.lower() in key.lower()), None)


@logged
def loans_of(member: str) -> set[str]:
    """Titles that a member has at home."""
    return {book.title for book in Library.books.values() if book.lent_to == member}


def authors() -> frozenset[str]:
    """All authors of whom there is a book."""
    return frozenset(book.author for book in Library.books.values())


def ratings() -> dict[int, float]:
    """Ratings by the number of the book; NaN where there is none."""
    return {number: b.rating if b.rating is not None else float("nan") for number, b in Library.books.items()}


def holds_on(number: int) -> list[str]:
    """Who waits for a book."""
    return Library.holds[number]


def fines_of(member: str) -> tuple[str, float]:
    """What a member owes in fines."""
    return member, Library.members[member].fines


@functools.lru_cache
def loan_period(shelf: Shelf) -> timedelta:
    """How long books of a shelf may be kept."""
    return timedelta(days=14 if shelf is Shelf.CHILDREN else 28)


def shelf_map(shelf: Shelf) -> PurePosixPath:
    """Where the plan of a shelf is filed."""
    return PurePosixPath("plans") / f"{shelf}.svg"


def count_by_shelf() -> dict[Shelf, int]:
    """How many books stand on each shelf."""
    counts: defaultdict[Shelf, int] = defaultdict(int)
    for book in Library.books.values():
        counts[book.shelf] += 1
    return counts


async def lend_book(number: int, member: str, *, days: int = 28) -> Book:
    """Lend a book to a member."""
    book = Library.books[number]
    if book.lent_to is not None:
        raise ValueError(f"{book.title} is lent to {book.lent_to} until {book.due}")
    book.lent_to, book.due = member, TODAY + timedelta(days=days)
    return book


async def take_back(number: int) -> Book:
    """Take a book back from whoever has it."""
    book = Library.books[number]
    book.lent_to = book.due = None
    return book


async def extend_loan(number: int, until: date) -> Book:
    """Let somebody keep a book for longer."""
    Library.books[number].due = until
    return Library.books[number]


def place_hold(number: int, member: str) -> int:
    """Reserve a book for a member; returns their place in the queue."""
    Library.holds[number].append(member)
    return len(Library.holds[number])


def drop_hold(number: int, member: str) -> None:
    """Strike a member off the queue for a book."""
    Library.holds[number].remove(member)


def add_books(entries: list[Entry]) -> list[int]:
    """Put new books into the catalogue; returns their numbers."""
    first = max(Library.books) + 1
    for number, entry in enumerate(entries, first):
        Library.books[number] = Book(number=number, **entry.model_dump())
    return list(range(first, first + len(entries)))


def withdraw_book(number: int) -> Book:
    """Take a book out of the catalogue for good."""
    return Library.books.pop(number)


@logged
def enrol_member(name: str, mail: str | None = None) -> Member:
    """Give somebody a card."""
    Library.members[name] = Member(card=uuid5(SPACE, name), name=name, mail=mail)
    return Library.members[name]


def waive_fines(member: str) -> float:
    """Let a member off what they owe; returns how much that was."""
    waived, Library.members[member].fines = Library.members[member].fines, 0.0
    return waived


def write_to(member: str, text: str) -> None:
    """Write to a member."""
    Library.letters.append(f"{member}: {text}")


def reshelve(number: int, shelf: Shelf) -> Book:
    """Put a book on another shelf."""
    Library.books[number].shelf = shelf
    return Library.books[number]


def _state() -> dict[str, Any]:
    return {
        "books": {str(number): book.model_dump(mode="json") for number, book in Library.books.items()},
        "members": {name: member.model_dump(mode="json") for name, member in Library.members.items()},
        "holds": {str(number): names for number, names in Library.holds.items() if names},
        "letters": dict(enumerate(Library.letters)),
    }


READS = (
    *(search_books, get_book, overdue_books, find_member, loans_of, authors, ratings, holds_on, fines_of),
    *(loan_period, shelf_map, count_by_shelf),
)
WRITES = (
    *(lend_book, take_back, extend_loan, place_hold, drop_hold, add_books, withdraw_book, enrol_member),
    *(waive_fines, write_to, reshelve),
)


def library() -> World:
    """Open the library as it is on a Monday morning."""
    lent = {"lent_to": "Nora Falk", "due": date(2026, 2, 20)}
    books = (
        Book(number=1, title="The Lake", author="Banana Yoshimoto", shelf=Shelf.FICTION, rating=4.5),
        Book(number=2, title="Cosmos", author="Carl Sagan", shelf=Shelf.SCIENCE, **lent),
        Book(number=3, title="Momo", author="Michael Ende", shelf=Shelf.CHILDREN, rating=4.9),
        Book(number=4, title="Contact", author="Carl Sagan", shelf=Shelf.FICTION, rating=4.0),
        Book(number=5, title="Jim Knopf", author="Michael Ende", shelf=Shelf.FICTION, lent_to="Pia Roth"),
    )
    Library.books = {book.number: book for book in books}
    Library.books[5].due = date(2026, 3, 9)
    names = {"Nora Falk": ("nora@example.org", 3.5), "Pia Roth": (None, 0.0), "Hugo Lenz": (None, 12.25)}
    Library.members = {
        name: Member(card=uuid5(SPACE, name), name=name, mail=mail, fines=fines)
        for name, (mail, fines) in names.items()
    }
    Library.holds, Library.letters = defaultdict(list, {2: ["Hugo Lenz"]}), []
    return World("library", (*READS, *WRITES), frozenset(each.__name__ for each in READS), _state)
