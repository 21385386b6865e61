"""Where a store is: the address of the database, and the schema that its tables are in."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from planwright.domain.errors import SetupError

SCHEMA = "planwright"
"""Schema of the tables where the address names none."""
_OPTIONS = re.compile(
    r"""-c ?search_path=("?)([A-Za-z0-9_-]{1,63})\1"""
)  # PostgreSQL cuts longer names short


@dataclass(frozen=True)
class Address:
    """A database, as libpq takes it, and a schema in it."""

    conninfo: str
    """What libpq connects by, with the password where there is one: it is not to be shown."""
    schema: str
    """Schema that the tables are in; to SQL it goes in quotation marks."""
    label: str
    """Host, port and database, to show."""

    @property
    def lock(self) -> int:
        """Number of the lock that who writes in this schema holds; locks belong to one database."""
        return _number(f"planwright store {self.schema}")

    @property
    def lock_of_shared_rows(self) -> int:
        """Number of the lock that is taken before rows of no single run are written, behind the other."""
        return _number(f"planwright shared rows {self.schema}")


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], signed=True)


def read_address(url: str) -> Address:
    """Read a URL of libpq (postgresql.org/docs/current/libpq-connect.html). Raises SetupError.

    `?options=-csearch_path%3Dteam` names another schema than `planwright`, as it is written; no other option
    is taken, since one that were left out, or a name that were read in part, would mean another store.
    """
    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}
    except psycopg.Error:  # its text quotes the address
        cause = "storage.url is no address that PostgreSQL understands"
        raise SetupError(cause, "write it as postgresql://user@host:5432/database") from None
    options = parts.pop("options", "").strip()
    named = _OPTIONS.fullmatch(options)
    if options and named is None:
        raise SetupError(
            "the options in storage.url are more, or other, than one schema: a name of at most 63 letters of"
            " English, digits, _ and -",
            "write ?options=-csearch_path%3DNAME; set what else a session needs by ALTER ROLE … SET …",
        )
    schema = named[2] if named else SCHEMA
    host, port = parts.get("host") or parts.get("hostaddr") or "localhost", parts.get("port") or "5432"
    name = parts.get("dbname") or parts.get("user") or ""
    label = f"postgresql://{host}:{port}/{name}" + (f" ({schema})" if named else "")
    return Address(make_conninfo("", **parts), schema, label)
