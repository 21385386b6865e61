"""What monitoring asks of a worker: whether it is well, and how much there is to do. On this machine only.

Metrics are in the text format of Prometheus (prometheus.io/docs/instrumenting/exposition_formats). They are
counts and ages; nothing of a request, a result or a name is in them.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server
from wsgiref.types import StartResponse, WSGIEnvironment

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from planwright.domain.errors import StoreFailed
from planwright.domain.results import TERMINAL
from planwright.records.history.run_outcomes import counts_of_store
from planwright.store.database import Database

LOOPBACK = "127.0.0.1"


class StoreCollector(Collector):
    """Counts what a store has, each time it is asked."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def collect(self) -> Iterable[Metric]:
        """Count runs by state and end, open gates, and effects. Raises StoreFailed."""
        counts = self._database.look(counts_of_store)
        runs = counts["runs"]
        open_runs = {status: n for status, n in runs.items() if status not in TERMINAL}
        ended = {status: n for status, n in runs.items() if status not in open_runs}
        yield _gauge("planwright_runs_open", "Runs that have not ended.", "status", open_runs)
        yield _gauge("planwright_gates_open", "Gates that wait for a person.", "kind", counts["gates"])
        yield _counter("planwright_runs_ended", "Runs that have ended.", ended)
        yield _counter("planwright_effects", "Effects on record.", counts["effects"])


def _gauge(name: str, text: str, label: str, counts: dict[str, int]) -> Metric:
    metric = GaugeMetricFamily(name, text, labels=[label])
    for value, count in counts.items():
        metric.add_metric([value], count)
    return metric


def _counter(name: str, text: str, counts: dict[str, int]) -> Metric:
    metric = CounterMetricFamily(name, text, labels=["status"])
    for value, count in counts.items():
        metric.add_metric([value], count)
    return metric


class _Server(ThreadingMixIn, WSGIServer):
    """A thread for each connection: one that asks nothing keeps no other waiting, nor the end."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Report a failed request on stderr, unless its client went away or asked nothing."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Silent(WSGIRequestHandler):
    timeout = 10

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing of each request."""


@contextmanager
def monitoring(port: int, database: Database, is_well: Callable[[], bool]) -> Iterator[int]:
    """Answer `/healthz` and `/metrics` while the block runs; port 0 takes any free one, and says which.

    `is_well` says whether the worker has looked at its store lately. Raises OSError for a port that is taken.
    """
    registry = CollectorRegistry()
    registry.register(StoreCollector(database))
    metrics = make_wsgi_app(registry)

    def answer(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO")
        if path == "/metrics":
            try:
                body: Iterable[bytes] = metrics(environ, start)
            except StoreFailed:
                start("503 Service Unavailable", [("Content-Type", "text/plain")])
                return [b"the store cannot be read\n"]
            return body
        well = path == "/healthz" and is_well()
        status = "200 OK" if well else "503 Service Unavailable" if path == "/healthz" else "404 Not Found"
        start(status, [("Content-Type", "text/plain")])
        return [b"ok\n" if well else b"not well\n"]

    with make_server(LOOPBACK, port, answer, _Server, _Silent) as server:
        threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
