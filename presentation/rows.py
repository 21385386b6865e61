"""What views read: rows of the store, and the cards and events that it keeps as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

JsonMapping = Mapping[str, Any]
"""Something with names, as JSON holds it; the words below say what of."""
Card = JsonMapping
"""All that a gate shows, or one step, call or effect of it; its kind says which fields there are."""
RunEvent = JsonMapping
"""One event of a run: `seq`, `ts`, `type`, and the `data` that it tells."""
EventData = JsonMapping
"""What an event tells; its type says which fields there are."""
Report = JsonMapping
"""All that is recorded of a run, or one part of it, as `--json` prints it."""
GateRow = JsonMapping
"""One gate, by the columns of its table."""
RunRow = JsonMapping
"""One run, by the columns of its table."""
JsonObject = dict[str, object]
"""What a command prints or sends as JSON."""
