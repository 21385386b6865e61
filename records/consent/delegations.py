"""Delegations: calls of mode `delegated` that a person lets agents make for a while without being asked.

`delegations.jsonl` holds one a line, made to be read and cut. A line that cannot be read delegates nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pydantic import AwareDatetime, ConfigDict, Field

from planwright.domain.errors import SetupError
from planwright.domain.risk import Risk, at_least
from planwright.records.consent.line_file import FileLine, LineFile
from planwright.settings.profile import stands_for
from planwright.store.store_time import StoreTime

FILE_NAME = "delegations.jsonl"


@dataclass(frozen=True)
class Period:
    """From when until when a delegation covers calls."""

    since: datetime
    """First moment at which it covers a call, in UTC."""
    until: datetime
    """First moment at which it covers none any more, in UTC."""


@dataclass(frozen=True)
class Reach:
    """Which capabilities a delegation covers."""

    names: Sequence[str]
    """Names of capabilities, or patterns such as `payments.*`."""
    codes: Mapping[str, str] = field(default_factory=dict)
    """Digests of those that it covers when it is issued."""


class Delegation(FileLine):
    """What one person delegates: to whom, how much of it, and until when."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str = Field(description="Its name, `dlg_` and 12 hex digits.")
    capabilities: tuple[str, ...] = Field(
        min_length=1, description="Names of capabilities, or patterns such as `payments.*`."
    )
    max_risk: Risk = Field(description="The gravest risk that a call may have.")
    tenant: str = Field(description="Whose runs it is for.")
    issued_by: str = Field(description="The person who is answerable for it.")
    issued_at: AwareDatetime = Field(description="When it was issued, in UTC.")
    expires_at: AwareDatetime = Field(description="From when on it covers nothing, in UTC.")
    reason: str = Field("", description="What it is for, in the words of who issued it.")
    codes: dict[str, str] = Field(
        default_factory=dict, description="Digests of the capabilities that it covered when it was issued."
    )

    def covers(self, name: str, risk: Risk, tenant: str, now: datetime, code: str = "") -> bool:
        """Say whether it covers a call at a moment; before its issue, by a clock set back, it covers none.

        It covers no capability whose `code` is another than it was then, and none that was not there then. Of
        one that names no codes they do not count.
        """
        return (
            self.issued_at <= now < self.expires_at
            and tenant == self.tenant
            and at_least(self.max_risk, risk)
            and any(stands_for(glob, name) for glob in self.capabilities)
            and self.codes.get(name, "" if self.codes else code) == code
        )

    @property
    def label(self) -> str:
        """Who delegated what until when, for a card and for the record."""
        return f"delegated by {self.issued_by} until {self.expires_at:%Y-%m-%d %H:%M} UTC ({self.id})"


class Delegations:
    """The delegations of one workspace."""

    def __init__(self, folder: Path, time: StoreTime | None = None) -> None:
        self.path = folder / FILE_NAME
        self._time = time
        self._file = LineFile(
            self.path,
            Delegation,
            noun="delegation",
            unreadable="nothing is delegated",
            listing="planwright delegations ls",
        )

    def read(self) -> list[Delegation]:
        """Read all of them. Raises SetupError, naming the line, for one that is none."""
        return self._file.read()

    def covering(
        self, name: str, risk: Risk, tenant: str, now: datetime, code: str = ""
    ) -> Delegation | None:
        """Find one that covers a call now; none while the file cannot be read.

        One that is over by a clock that is not believed yet covers none either.
        """
        moments = (now, max(now, self._time.latest())) if self._time is not None else (now,)
        try:
            delegations = self.read()
        except SetupError:
            return None
        covers = (
            each for each in delegations if all(each.covers(name, risk, tenant, at, code) for at in moments)
        )
        return next(covers, None)

    def issue(
        self,
        reach: Reach,
        max_risk: Risk,
        by: str,
        period: Period,
        *,
        tenant: str = "default",
        reason: str = "",
    ) -> Delegation:
        """Write a delegation down. Raises SetupError while the file holds a line that is none."""
        issued = Delegation(
            id=f"dlg_{uuid.uuid4().hex[:12]}",
            capabilities=tuple(reach.names),
            max_risk=max_risk,
            tenant=tenant,
            issued_by=by,
            issued_at=period.since,
            expires_at=period.until,
            reason=reason,
            codes=dict(reach.codes),
        )
        self._file.append([issued])
        return issued

    def revoke(self, id_: str) -> Delegation:
        """Take one out of the file. Raises SetupError when there is none of that name."""
        return self._file.remove(id_)
