"""Log lines of a command, on stderr, as far as the settings of its workspace say."""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path

from planwright.settings.settings import Settings, load
from planwright.settings.telemetry import LogSettings
from planwright.telemetry.log_records import ROOT

LINE = "%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s"
TIME = "%Y-%m-%dT%H:%M:%S"


class _Stderr(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to what stderr is at that moment: while a run is watched, lines go above the picture."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def load_logged(workspace: Path) -> Settings:
    """Read the settings of a workspace, and log from now on as they say. Raises as `load`."""
    settings = load(workspace)
    log_to_stderr(settings.logging)
    return settings


def log_to_stderr(settings: LogSettings) -> None:
    """Log to stderr from a level on, in place of what an earlier call said."""
    log = logging.getLogger(ROOT)
    for handler in [handler for handler in log.handlers if isinstance(handler, _Stderr)]:
        log.removeHandler(handler)
    if settings.level == "off":
        return
    handler = _Stderr()
    formatter = logging.Formatter(LINE, TIME)
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    log.addHandler(handler)
    log.setLevel(settings.level.upper())
