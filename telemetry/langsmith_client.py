"""The client of LangSmith, which puts every secret out of sight. Loaded only where it is on."""

from __future__ import annotations

from typing import Any

from langsmith import Client

from planwright.security.redaction.redactor import Redactor


class RedactingClient(Client):
    """Redact a run as it is handed over, and once more what its messages and objects were written out as."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__(anonymizer=redactor.value)
        self._redactor = redactor

    def create_run(self, name: str, inputs: dict[str, Any], run_type: Any, **fields: Any) -> None:
        """Send the beginning of a run."""
        super().create_run(self._redactor.text(name), inputs, run_type, **self._redactor.value(fields))

    def update_run(self, run_id: Any, **fields: Any) -> None:
        """Send the end of a run."""
        super().update_run(run_id, **self._redactor.value(fields))
