"""The network as calls see it: clients that go nowhere but where they may."""

from __future__ import annotations

import ssl
from functools import cache, cached_property
from typing import TYPE_CHECKING

import httpx

from planwright.security.egress.resolver import Resolve, system_resolver
from planwright.settings.egress import EgressSettings

if TYPE_CHECKING:
    from httpcore import AsyncNetworkBackend

    from planwright.security.egress.guarded_transport import GuardedTransport
    from planwright.security.egress.pinned_backend import PinnedBackend


@cache
def _authorities() -> ssl.SSLContext:
    """Load whom a certificate may come from, once: 20 ms."""
    return httpx.create_ssl_context(trust_env=False)


class Network:
    """Open guarded clients. `resolve` and `connector` are the system's own unless given."""

    def __init__(
        self,
        egress: EgressSettings,
        *,
        resolve: Resolve = system_resolver,
        connector: AsyncNetworkBackend | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self._egress = egress
        self._resolve = resolve
        self._connector = connector
        self._given_context = ssl_context

    def client(self, timeout_s: float) -> httpx.AsyncClient:
        """Open a client that follows no redirects by itself and reads no proxies from the environment."""
        return httpx.AsyncClient(
            transport=self.transport(), timeout=timeout_s, follow_redirects=False, trust_env=False
        )

    def transport(self) -> GuardedTransport:
        """Open what a client sends its requests through."""
        from planwright.security.egress.guarded_transport import GuardedTransport  # here: see `_backend`

        return GuardedTransport(self._egress, self._backend, self._ssl_context)

    @cached_property
    def _backend(self) -> PinnedBackend:
        from httpcore import AnyIOBackend  # here: 10 ms, and most runs open no client

        from planwright.security.egress.pinned_backend import PinnedBackend

        return PinnedBackend(self._egress, self._resolve, self._connector or AnyIOBackend())

    @cached_property
    def _ssl_context(self) -> ssl.SSLContext:
        return self._given_context or _authorities()
