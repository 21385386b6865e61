"""What a user wrote on a thread: a wish counts where no word of it refuses, so none of it may be missing.

A fork begins a thread of its own with the request of its source. What the user had said before that request
stands on the thread of the source, and on that of its source, and so on.
"""

from __future__ import annotations

import sqlite3

# Of a source those runs count that had begun when the one that was forked began.
_WORDS = """WITH RECURSIVE led(thread_id, until) AS (
    SELECT thread_id, max(started_at) FROM runs WHERE thread_id = :thread GROUP BY thread_id UNION
    SELECT source.thread_id, source.started_at FROM led JOIN runs made ON made.thread_id = led.thread_id
    JOIN forks ON forks.run_id = made.run_id JOIN runs source ON source.run_id = forks.source_run
    WHERE made.started_at <= led.until),
ours AS (
    SELECT DISTINCT r.run_id, r.request, r.started_at
    FROM led JOIN runs r ON r.thread_id = led.thread_id AND r.started_at <= led.until)
SELECT request, started_at FROM ours UNION ALL
SELECT g.reason, g.decided_at FROM gates g JOIN ours ON ours.run_id = g.run_id WHERE g.status = 'responded'
ORDER BY 2 DESC"""


def thread_words(connection: sqlite3.Connection, thread_id: str) -> list[str]:
    """List requests and answers to questions of a thread and of what it was forked from, the newest first."""
    return [row[0] for row in connection.execute(_WORDS, {"thread": thread_id}) if row[0]]
