"""Whether runs are sent to LangSmith: as the settings say, and nothing else.

LangChain sends every run of its own accord when LANGSMITH_TRACING or LANGCHAIN_TRACING_V2 stands in the
environment of whoever starts a program.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from planwright.security.redaction.redactor import Redactor
from planwright.settings.telemetry import TracingSettings

if TYPE_CHECKING:
    from planwright.telemetry.langsmith_client import RedactingClient

T = TypeVar("T")
PATIENCE_S = 5.0


class LangSmithRuns:
    """Send runs to LangSmith, redacted, or keep LangChain from sending them."""

    def __init__(self, settings: TracingSettings, redactor: Redactor) -> None:
        self._on = settings.langsmith
        self._redactor = redactor
        self._used = False

    @cached_property
    def _client(self) -> RedactingClient:
        from planwright.telemetry.langsmith_client import RedactingClient

        self._used = True
        return RedactingClient(self._redactor)

    def around(self) -> AbstractContextManager[None]:
        """Say for a block whether what LangChain does in it is sent."""
        from langsmith.run_helpers import tracing_context  # loaded by LangChain at its first call

        client = self._client if self._on else None
        return tracing_context(enabled=self._on, client=client)

    async def within(self, stream: AsyncIterator[T]) -> AsyncGenerator[T, None]:
        """Iterate a stream, with each of its steps in such a block, and the code of the caller in none."""
        try:
            while True:
                with self.around():
                    try:
                        item = await anext(stream)
                    except StopAsyncIteration:
                        return
                yield item
        finally:
            if isinstance(stream, AsyncGenerator):
                with self.around():
                    await stream.aclose()

    def close(self) -> None:
        """Send what is queued, as far as that takes no longer than a few seconds."""
        if self._used:
            self._client.flush(timeout=PATIENCE_S)
