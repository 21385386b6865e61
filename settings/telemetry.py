"""The settings of what an operator sees: log lines of the command line, and traces."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

LogLevel = Literal["off", "debug", "info", "warning", "error"]
LogFormat = Literal["text", "json"]


class LogSettings(BaseModel):
    """What the command line logs to stderr; a program that imports Planwright sets up its own logging."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    level: LogLevel = "off"
    """Least level of what is logged; `off` for nothing, since the command line shows its run itself."""
    format: LogFormat = "text"
    """How a record is written: as a line of text for people, or as one JSON object a line for programs."""


class TracingSettings(BaseModel):
    """Where traces go beside OpenTelemetry, which the program sets up itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    langsmith: bool = False
    """Whether runs are sent to LangSmith, redacted; LANGSMITH_TRACING in the environment decides nothing."""
