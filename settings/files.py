"""The settings of what file capabilities may write and read: documents, and what a person lists besides."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

# No .svg: it holds scripts, and a browser runs them (SVG 2, 15.10). No .log: what a program says of itself.
# No .ics: `calendar.list` believes it.
TYPES = (
    *(".txt", ".md", ".markdown", ".csv", ".tsv", ".json", ".html", ".htm"),
    *(".png", ".jpg", ".jpeg", ".gif", ".webp"),
)
# What an interpreter imports, or a shell or a desktop runs. No setting lets an agent write one.
PROGRAMS = frozenset(
    ".py .pyw .pyc .pyo .pyd .pyx .pth .pyz .pyzw .egg .whl .so .dll .dylib .node .wasm .o .a .ko .exe "
    ".com .bat .cmd .msi .scr .pif .cpl .lnk .scf .reg .hta .vbs .vbe .wsf .wsh .ps1 .psm1 .psd1 .sh "
    ".bash .zsh .fish .csh .ksh .command .tool .run .desktop .service .timer .appimage .app .scpt .js "
    ".mjs .cjs .jse .jsx .ts .mts .cts .tsx .rb .pl .pm .php .phtml .lua .tcl .jar .class .war .groovy "
    ".gradle .kts .el .vim .rs .mk .cmake .bzl .nix .docm .xlsm .xlam .pptm".split()
)


def _type(text: str) -> str:
    ending = text.casefold()
    if not re.fullmatch(r"\.[^\W_][\w+-]*", ending):
        raise ValueError(f"{text!r} is no type of file: write its ending, such as .md")
    if ending in PROGRAMS:
        raise ValueError(f"{text} files are programs, and no agent writes one")
    return ending


def _path(pattern: str) -> str:
    path = PurePosixPath(pattern)
    if not path.parts or path.is_absolute() or pattern.startswith("~") or "\\" in pattern:
        raise ValueError(f"{pattern!r} is no path below the workspace")
    if any(part.startswith(".") for part in path.parts):
        raise ValueError(f"{pattern}: what begins with a dot is never written")
    for ending in sorted(PROGRAMS):
        if _may_end_in(path.name.casefold(), ending):
            raise ValueError(
                f"{pattern} may be the name of a program (…{ending}), and no agent writes one: "
                "end it in a whole name or type, such as notes/*.log"
            )
    return pattern


def _pattern(pattern: str) -> str:
    path = PurePosixPath(pattern)
    if not path.parts or path.is_absolute() or pattern.startswith("~") or "\\" in pattern:
        raise ValueError(f"{pattern!r} is no path below the workspace")
    return pattern


def _may_end_in(pattern: str, ending: str) -> bool:
    """Say whether a name that fits a pattern may have an ending."""
    for wanted in reversed(ending):
        if not pattern or pattern[-1] in "*]":  # it stands for anything, or for one of several
            return bool(pattern)
        if pattern[-1] not in (wanted, "?"):
            return False
        pattern = pattern[:-1]
    return True


class FileSettings(BaseModel):
    """Types of documents, by their endings; and paths that are written though their name or type is not.

    A `*` of a path stays within its folder.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    types: tuple[Annotated[str, AfterValidator(_type)], ...] = TYPES
    """Endings of the types of documents that capabilities may write."""
    allow: tuple[Annotated[str, AfterValidator(_path)], ...] = ()
    """Paths that are written though their name or type is not; a `*` stays within its folder."""
    readable: tuple[Annotated[str, AfterValidator(_pattern)], ...] = ()
    """Paths that are read though they have a dot, hold keys, or settings name them; `**` is any folders."""
