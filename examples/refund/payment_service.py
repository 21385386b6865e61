"""A payment service on this machine, with a database of its own. It pays once for each idempotency key.

python payment_service.py --port 8765 --faults 1      # the first request is answered 503
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import time
from contextlib import closing
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SCHEMA = """
CREATE TABLE IF NOT EXISTS requests (id INTEGER PRIMARY KEY, key TEXT, status INTEGER);
CREATE TABLE IF NOT EXISTS refunds (id INTEGER PRIMARY KEY, key TEXT UNIQUE, order_id TEXT, amount TEXT);
"""


class Payments(BaseHTTPRequestHandler):
    """Takes `POST /refunds` with an Idempotency-Key."""

    database = "payments.db"
    faults = 0
    """How many requests are answered 503 before the first is heard."""
    balance = Decimal("1000")
    """What a single refund may cost; more is answered 402."""
    hold_s = 0.0
    """How long an answer is held back after its refund is paid, in seconds."""

    def do_POST(self) -> None:
        """Pay, write down what was paid, and answer."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = self.headers["Idempotency-Key"]
        with closing(sqlite3.connect(self.database)) as database, database:
            status, content = self._pay(database, key, body["order_id"], body["amount"])
            database.execute("INSERT INTO requests (key, status) VALUES (?, ?)", (key, status))
        if status == 200:
            time.sleep(self.hold_s)
        self._send(status, content)

    def _pay(
        self, database: sqlite3.Connection, key: str, order_id: str, amount: str
    ) -> tuple[int, dict[str, object]]:
        (tries,) = database.execute("SELECT count(*) FROM requests").fetchone()
        if tries < self.faults:
            return 503, {"error": "out of order, try again"}
        if Decimal(amount) > self.balance:
            return 402, {"error": f"the account does not cover {amount}"}
        row = (key, order_id, amount)
        database.execute("INSERT OR IGNORE INTO refunds (key, order_id, amount) VALUES (?, ?, ?)", row)
        (refund_id,) = database.execute("SELECT id FROM refunds WHERE key = ?", (key,)).fetchone()
        return 200, {"refund_id": refund_id, "order_id": order_id, "amount": amount}

    def _send(self, status: int, content: dict[str, object]) -> None:
        answer = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing: the database is the log."""


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--faults", type=int, default=0)
    parser.add_argument("--hold", type=float, default=0, help="seconds between a payment and its answer")
    options = parser.parse_args()
    Payments.faults, Payments.hold_s = options.faults, options.hold
    with closing(sqlite3.connect(Payments.database)) as database:
        database.executescript(SCHEMA)
    service = ThreadingHTTPServer(("127.0.0.1", options.port), Payments)
    print(f"listening on 127.0.0.1:{service.server_port}", flush=True)
    service.serve_forever()


if __name__ == "__main__":
    main()
