"""What runs are made under: the hash of everything that decides how they go, read when they begin.

It is compared when they go on. Calls whose capability or policy changed are asked for anew in any case
(`capabilities/gateway/pins.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version

from planwright.capabilities.registry import Registry
from planwright.critic.verdict_inputs import RULES
from planwright.domain.errors import VersionMismatch
from planwright.domain.hashing import sha256
from planwright.domain.run_context import RunContext
from planwright.prompts import prompts_hash
from planwright.records.history.run_records import versions_of
from planwright.records.runs import Run
from planwright.settings.profile import RunProfile
from planwright.settings.settings import Settings
from planwright.settings.workspace import OnChange
from planwright.state.invocation import Invocation
from planwright.store.database import Database

APART = {
    "workspace": "a place",
    "providers": "places and keys",
    "sources": "places",
    "storage": "a place",
    "secrets": "names of keys",
    "server": "who comes in",
    "logging": "looks",
    "tracing": "looks",
    "audit": "a place",
}
"""Sections of the settings that do not change what a run does, and what they name."""
SNAPSHOT = "snapshot"


def workspace_versions(settings: Settings, registry: Registry, policy_hash: str) -> dict[str, str]:
    """Name each part by its hash, and the program by its version."""
    return {
        "program": version("planwright"),
        "prompts": prompts_hash(),
        "registry": registry.hash,
        "policy": policy_hash,
        "settings": sha256(settings.model_dump(mode="json", exclude=set(APART))),
        "evaluators": RULES,
    }


@dataclass(frozen=True)
class VersionChange:
    """What a run went by until now, and what it goes by from here on: hashes by the name of the part."""

    before: Mapping[str, str]
    """Versions on record, of the beginning or of the newest change; empty where none are."""
    now: Mapping[str, str]
    """Versions of this process."""

    @property
    def parts(self) -> list[str]:
        """Name the parts that differ."""
        return sorted(name for name, version in self.before.items() if self.now.get(name, version) != version)


class RunVersions:
    """Compare the versions of a run with those of this process."""

    def __init__(self, database: Database, versions: Mapping[str, str], on_change: OnChange) -> None:
        self._database = database
        self._versions = versions
        self._on_change = on_change

    async def change(self, run: Run, profile: RunProfile, snapshot: str | None = None) -> VersionChange:
        """Compare what a run went by with what is here now; `snapshot` is that of the caller."""
        before = await self._database.read(lambda connection: versions_of(connection, run.run_id))
        now = {**self._versions, "profile": profile.hash}
        if data := snapshot or before.get(SNAPSHOT):
            now[SNAPSHOT] = data
        return VersionChange(before, now)

    async def check(self, run: Run, profile: RunProfile, context: RunContext) -> VersionChange:
        """Compare them before a run goes on; one that was cancelled only ends.

        Raises VersionMismatch for another snapshot, and for other parts where `sessions.on_change` refuses.
        """
        change = await self.change(run, profile, context.snapshot)
        if run.ended or run.cancelled_by:
            return VersionChange({}, change.now)
        if context.snapshot and context.snapshot != change.before.get(SNAPSHOT, context.snapshot):
            raise mismatch(run, "snapshot_version_mismatch", [SNAPSHOT])
        if change.parts and self._on_change == "refuse":
            raise mismatch(run, "pack_version_mismatch", change.parts)
        return change


def note(invocation: Invocation, change: VersionChange, by: str = "") -> None:
    """Put on record what a run goes by from here on; `by` is who asked for that, "" for the settings."""
    if change.parts:
        data = {"parts": change.parts, "versions": dict(change.now), "code": code_of(change.parts), "by": by}
        invocation.record_event("versions_changed", data, sha256([change.before, change.now])[:16])


def code_of(parts: list[str]) -> str:
    """Name the kind of a change."""
    return "snapshot_version_mismatch" if parts == [SNAPSHOT] else "pack_version_mismatch"


def mismatch(run: Run, code: str, parts: list[str]) -> VersionMismatch:
    """Say what differs, and how a run goes on or ends."""
    names = " and ".join(", ".join(parts).rsplit(", ", 1))
    verb = "is" if len(parts) == 1 else "are"
    return VersionMismatch(
        f"{code}: {names} {verb} not what run {run.run_id} began with; nothing was run",
        f"go on with what is here now: planwright resume {run.thread_id} --migrate; "
        f"or end it: planwright cancel {run.thread_id}",
        code,
    )
