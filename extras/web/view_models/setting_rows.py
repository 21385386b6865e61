"""The settings in force as rows, each with where its value comes from; secrets are hidden."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from planwright.presentation.setting_origin import origin_of
from planwright.security.redaction.redactor import Redactor
from planwright.settings.file_errors import leaves
from planwright.settings.origins import DEFAULT, origins
from planwright.settings.settings import Settings

HIDDEN = "[hidden]"
DIGESTS = ("sha256",)
"""Settings that are the hash of a secret: whoever has one can try secrets against it."""


@dataclass(frozen=True)
class SettingRow:
    """One setting."""

    name: str
    """Its dotted name."""
    value: str
    """Its value as JSON, without secrets."""
    origin: str
    """Variable or file that sets it, or `default`."""

    @property
    def set(self) -> bool:
        """Whether something sets it."""
        return self.origin != DEFAULT


def setting_rows(settings: Settings, redactor: Redactor, text: str, *, set_only: bool) -> list[SettingRow]:
    """List the settings whose name holds a text; with `set_only` those that are not at their default."""
    rows = (row for row in _rows(settings, redactor) if text.lower() in row.name.lower())
    return [row for row in rows if row.set or not set_only]


def _rows(settings: Settings, redactor: Redactor) -> Iterator[SettingRow]:
    named = origins(settings)
    values = redactor.value(settings.model_dump(mode="json", exclude={"workspace"}))
    for name, value in leaves(values):
        hidden = name.rpartition(".")[2] in DIGESTS and value
        spelled = HIDDEN if hidden else json.dumps(value, ensure_ascii=False)
        yield SettingRow(name, spelled, origin_of(name, named, DEFAULT))
