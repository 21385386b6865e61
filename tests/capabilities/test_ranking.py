"""BM25 over names, tags, descriptions and arguments of capabilities."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from planwright.capabilities.declaration import capability
from planwright.capabilities.ranking import Ranking, stems


@capability("parcels.track", mode="read_only", tags=("delivery",))
def track(code: Annotated[str, Field(description="number on the invoice")]) -> str:
    """Say where something is."""
    return code


@capability("mail.search", mode="read_only")
def search(query: str) -> str:
    """Search for messages and parcels."""
    return query


@capability("weather.today", mode="read_only")
def today(city: str) -> str:
    """Say how it is outside."""
    return city


RANKING = Ranking([search, track, today])


def test_every_part_of_a_declaration_is_searched() -> None:
    for text in ("parcel", "my delivery", "where", "invoices", "code"):
        assert next(RANKING.best(text)) == "parcels.track", text


def test_a_name_counts_more_than_a_description_and_what_shares_no_word_is_left_out() -> None:
    assert list(RANKING.best("Track parcels")) == ["parcels.track", "mail.search"]
    assert list(RANKING.best("zebra")) == []
    assert list(Ranking([]).best("parcel")) == []


def test_words_are_split_at_humps_and_lose_their_endings() -> None:
    assert stems("getUserFiles of_accounts searching") == ["get", "user", "fil", "of", "account", "search"]
