"""The settings of the audit chain."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict


class AuditSettings(BaseModel):
    """Where the newest hash of the audit chain is kept outside of the store, each time a run ends."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    anchor: Path | None = None
    """A file that it is appended to, best on another machine or one that is only added to; None for none."""
    command: tuple[str, ...] = ()
    """A command that gets it on stdin, as `number hash`; nothing is run where it is empty."""

    @property
    def anchors(self) -> bool:
        """Whether the hash is kept anywhere."""
        return self.anchor is not None or bool(self.command)
