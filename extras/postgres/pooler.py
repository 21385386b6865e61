"""A pooler between program and server: taken only where it keeps sessions, and what they were opened with.

PgBouncer with `pool_mode = transaction` gives each transaction any session of the server: the lock of an
owner stays with a session that is another's by then. With `ignore_startup_parameters = options` it leaves out
which schema was asked for, and the tables would be made in another (pgbouncer.org/features.html).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable

from planwright.domain.errors import SetupError
from planwright.extras.postgres.address import Address
from planwright.extras.postgres.errors import NO_POOLER
from planwright.extras.postgres.session import Connected

_OPENED = "SELECT pg_backend_pid(), current_setting('search_path')"
_KEEP = "SELECT set_config('planwright.session', $1, false)"
_SESSION_VALUE = "SELECT coalesce(current_setting('planwright.session', true), '')"


def refuse_pooler(session: Connected, another: Callable[[], Connected], address: Address) -> None:
    """Raise SetupError for a session that is not what was asked for, or that others use, too.

    A pooler is told by the process that it names, which is none of the server's: only there `another` session
    is opened.
    """
    pid, schema = _row(session, _OPENED)
    if schema not in (f'"{address.schema}"', address.schema.lower()):
        cause = f"{address.label} was asked for the schema {address.schema}, and works in {schema}"
        raise SetupError(f"{cause}: what is in between, or the server, leaves that out", NO_POOLER)
    if pid != session.info.backend_pid and _is_shared(session, another):
        cause = f"{address.label} is behind a pooler that gives a session to others between two transactions"
        raise SetupError(f"{cause}: locks and settings of a session do not last", NO_POOLER)


def _is_shared(session: Connected, another: Callable[[], Connected]) -> bool:
    """Say whether what one session keeps is lost to it, or comes to another.

    A pool gives out the session that was used last, or each in turn: the other one takes it, or the next
    statement has another.
    """
    token = uuid.uuid4().hex
    _row(session, _KEEP, token)
    if _row(session, _SESSION_VALUE) != (token,):
        return True
    with another() as other, other.transaction():
        return _row(other, _SESSION_VALUE) == (token,) or _row(session, _SESSION_VALUE) != (token,)


def _row(session: Connected, query: str, *values: str) -> tuple[object, ...]:
    row = session.execute(query, values or None).fetchone()
    return tuple(row[place] for place in range(len(row))) if row else ()
