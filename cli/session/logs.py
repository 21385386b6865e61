"""Log lines of a command, on stderr, as far as the settings of its workspace say."""

from __future__ import annotations

import json
import logging
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from planwright.capabilities.trust.guard import load_trusted
from planwright.security.redaction.redactor import Redactor
from planwright.settings.settings import Settings
from planwright.settings.telemetry import LogFormat
from planwright.telemetry.log_records import ROOT

LINE = "%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s"
TIME = "%Y-%m-%dT%H:%M:%S"


class _Stderr(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to what stderr is at that moment: while a run is watched, lines go above the picture."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


class TextLines(logging.Formatter):
    """Writes a record as a line for people, a traceback below it; no secret is in either."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__(LINE, TIME)
        self.converter = time.gmtime
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        """Write one record."""
        return self._redactor.text(super().format(record))


class JsonLines(logging.Formatter):
    """Writes a record as one JSON object on one line, with the same members always; no secret is in it.

    `time` (UTC, ISO 8601), `level`, `logger`, `event`, `run_id`, `thread_id`, `message`, `fields` (those of
    the event) and `error` (a traceback); null is what a record does not have.
    """

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        """Write one record."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {
            "time": time.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            **{name: getattr(record, name, None) for name in ("event", "run_id", "thread_id")},
            "message": record.getMessage(),
            "fields": getattr(record, "fields", None),
            "error": self.formatException(record.exc_info) if record.exc_info else None,
        }
        return json.dumps(self._redactor.value(line), ensure_ascii=False, default=str)


FORMATTERS: dict[LogFormat, type[TextLines | JsonLines]] = {"text": TextLines, "json": JsonLines}


def load_logged(workspace: Path) -> Settings:
    """Read the settings of a workspace, and log from now on as they say. Raises as `load`."""
    settings = load_trusted(workspace)
    log_to_stderr(settings)
    return settings


def log_to_stderr(settings: Settings) -> None:
    """Log to stderr from a level on, in place of what an earlier call said."""
    log, logging_ = logging.getLogger(ROOT), settings.logging
    for handler in [handler for handler in log.handlers if isinstance(handler, _Stderr)]:
        log.removeHandler(handler)
    if logging_.level == "off":
        return
    from planwright.security.redaction.known_secrets import redactor_of  # not for who logs nothing

    handler = _Stderr()
    handler.setFormatter(FORMATTERS[logging_.format](redactor_of(settings)))
    log.addHandler(handler)
    log.setLevel(logging_.level.upper())
