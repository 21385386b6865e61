"""Effects that are begun in a store of files, and the store as it was before."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import JsonValue

from planwright.domain.lease import Lease
from planwright.records.effects.ledger import EffectCall, Recorded
from planwright.records.records import Records, open_records
from planwright.records.runs import Run
from tests.patience import PATIENCE_S

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SECRET = "the-words-of-a-mail"


def effect_call(lease: Lease, name: str) -> EffectCall:
    """A call whose step is called after it."""
    args: dict[str, JsonValue] = {"to": name, "text": SECRET}
    return EffectCall(lease=lease, step_uid=f"step_{name}", capability="mail.send", effect="blind", args=args)


@dataclass
class Past:
    """A store in a folder, what is done in it, and how it was at some time."""

    folder: Path
    run: Run
    url: str = ""

    @property
    def file(self) -> Path:
        """The database."""
        return self.folder / "planwright.db"

    @property
    def mark(self) -> Path:
        """The mark beside it."""
        return self.folder / "owners" / "begun"

    @contextmanager
    def opened(self) -> Iterator[Records]:
        """Open it, as one process after the other does."""
        with closing(open_records(self.folder, url=self.url, busy_timeout_s=PATIENCE_S)) as records:
            yield records

    def begin(self, *names: str) -> list[Recorded]:
        """Begin effects in one process, and end each."""
        with self.opened() as records:
            return asyncio.run(begin(records, self.run, *names))

    def remember(self) -> Path:
        """Keep the file as it is."""
        kept = self.file.with_name(f"kept-{len(list(self.folder.iterdir()))}")
        shutil.copy(self.file, kept)
        return kept

    def put_back(self, kept: Path) -> None:
        """Put it in the place of what is there."""
        for side in ("-wal", "-shm"):
            self.file.with_name(f"{self.file.name}{side}").unlink(missing_ok=True)
        shutil.copy(kept, self.file)


async def begin(records: Records, run: Run, *names: str) -> list[Recorded]:
    """Begin effects, and end each."""
    lease = await records.leases.take(run, 60)
    begun = []
    for name in names:
        call = effect_call(lease, name)
        begun.append(await records.ledger.intend(call, NOW))
        if begun[-1].fresh:
            await records.ledger.settle(call, "done", NOW, {"sent": name})
    await records.leases.release(lease)
    return begun


@pytest.fixture
def past(tmp_path: Path, make_run: Callable[..., Run]) -> Past:
    """A store that has begun and ended one effect."""
    store = Past(tmp_path / "store", make_run())
    store.begin("anna")
    return store
