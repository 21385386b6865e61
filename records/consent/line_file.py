"""Files of a workspace that hold one JSON object a line, made to be read and cut by a person.

Every change is made under a lock on the folder, and the file is replaced as a whole: processes that change it
at the same time lose nothing of each other, a reader sees it before or after, and a full disk leaves it as it
was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from planwright.domain.errors import SetupError, StoreFailed
from planwright.store.folder_trust import FolderTrust
from planwright.store.private_files import alone_in, replace_private
from planwright.store.store_origin import believed, trust_own


class FileLine(BaseModel):
    """What a line of such a file holds."""

    id: str
    """Name of the line, as commands take it."""


Kind = TypeVar("Kind", bound=FileLine)


class LineFile(Generic[Kind]):
    """One file of lines of one kind.

    `noun` is what a line is called in messages, `unreadable` what holds until a line that cannot be read is
    mended, and `listing` the command that shows the lines.
    """

    def __init__(self, path: Path, kind: type[Kind], *, noun: str, unreadable: str, listing: str) -> None:
        self.path = path
        self._kind = kind
        self._noun, self._unreadable, self._listing = noun, unreadable, listing

    def read(self) -> list[Kind]:
        """Read all lines.

        Raises SetupError, naming the line, for one that is of another kind, and for a file that neither a
        command of ours has written on this machine nor a person trusts.
        """
        lines = self._lines()
        if not self._is_trusted():
            with self._alone():  # it may just be written
                return self._read_trusted()
        return self._parsed(lines)

    def append(self, rows: Sequence[Kind]) -> None:
        """Write lines at the end, those without whose id is there.

        Raises SetupError while a line cannot be read, and StoreFailed when the file cannot be written.
        """
        with self._alone():
            known = {row.id for row in self._read_trusted()}
            added = [row.model_dump_json(exclude_unset=True) for row in rows if row.id not in known]
            if added:
                self._write([line for _, line in self._lines()] + added)

    def remove(self, id_: str) -> Kind:
        """Take one line out, and return what it held.

        Raises SetupError when there is none of that id, and StoreFailed when the file cannot be written.
        """
        with self._alone():
            rows = {
                row.id: (row, line)
                for row, (_, line) in zip(self._read_trusted(), self._lines(), strict=True)
            }
            if id_ not in rows:
                raise SetupError(f"there is no {self._noun} {id_}", f"list them: {self._listing}")
            removed, _ = rows.pop(id_)
            self._write([line for _, line in rows.values()])
        return removed

    def _read_trusted(self) -> list[Kind]:
        """Read all lines while nobody else writes."""
        if not self._is_trusted():
            cause = f"{self.path} has lines that nobody trusts on this machine: {self._unreadable}"
            raise SetupError(cause, "look at it, then: planwright trust")
        return self._parsed(self._lines())

    def _is_trusted(self) -> bool:
        try:
            thing = believed(self.path.name, self.path.read_bytes())
        except OSError:
            return True  # none is there, or reading it says what is wrong
        return FolderTrust(self.path.parent).covers(thing.name, thing.digest)

    def _parsed(self, lines: Sequence[tuple[int, str]]) -> list[Kind]:
        return [self._parse(number, line) for number, line in lines]

    def _lines(self) -> list[tuple[int, str]]:
        try:
            text = self.path.read_text("utf-8") if self.path.exists() else ""
        except (OSError, UnicodeDecodeError) as error:
            raise SetupError(f"{self.path} cannot be read: {error}", "mend it, or delete it") from error
        lines = text.split("\n")  # JSON leaves other line ends, such as U+2028, unescaped in a text
        return [(number, line) for number, line in enumerate(lines, 1) if line.strip()]

    def _parse(self, number: int, line: str) -> Kind:
        try:
            return self._kind.model_validate_json(line)
        except ValidationError as error:
            cause = f"{self.path} line {number} is no {self._noun}: {error.errors()[0]['msg']}"
            raise SetupError(cause, f"mend or delete that line; until then {self._unreadable}") from error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            with alone_in(self.path.parent):
                yield
        except OSError as error:
            cause = f"{self.path} cannot be written, and is as it was: {error}"
            raise StoreFailed(cause, "make room or mend the rights, then try again") from error

    def _write(self, lines: Sequence[str]) -> None:
        text = "".join(f"{line}\n" for line in lines)
        replace_private(self.path, text)
        trust_own(self.path.parent, believed(self.path.name, text.encode()))
