"""Connect by name to an address that was checked: resolved once, checked whole, pinned."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from ipaddress import ip_address

import httpcore

from planwright.domain.errors import CapabilityForbidden
from planwright.security.egress.addresses import Address
from planwright.security.egress.resolver import Resolve
from planwright.security.egress.target import Target, check_address, check_target
from planwright.settings.egress import EgressSettings, read_host_port

MOST_TRIED = 4


class PinnedBackend(httpcore.AsyncNetworkBackend):
    """Open TCP connections for a pool: it is given names, `connector` only ever gets addresses."""

    def __init__(
        self, egress: EgressSettings, resolve: Resolve, connector: httpcore.AsyncNetworkBackend
    ) -> None:
        self._egress = egress
        self._resolve = resolve
        self._connector = connector

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Resolve, check every answer, and connect to the first that answers.

        Raises CapabilityForbidden, httpcore.ConnectError or httpcore.ConnectTimeout.
        """
        ends = time.monotonic() + (timeout or 60)
        addresses = (await self._addresses(host, port, timeout))[:MOST_TRIED]
        failure: httpcore.ConnectError | httpcore.ConnectTimeout
        for left, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
            share = max(0.01, (ends - time.monotonic()) / left)
            try:
                return await self._connector.connect_tcp(
                    str(address), port, share, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Refuse: a socket file is no place on the network."""
        raise CapabilityForbidden(f"{path} is a socket of this machine")

    async def sleep(self, seconds: float) -> None:
        """Wait, as the pool asks for between attempts."""
        await asyncio.sleep(seconds)

    async def _addresses(self, host: str, port: int, timeout: float | None) -> Sequence[Address]:
        """Resolve a name, once; one answer that may not be reached refuses all of them."""
        allowed = self._egress.allows(host, port)
        literal = _address(host)
        target = Target("http", host, port, literal)
        check_target(target, self._egress)
        if literal is not None:
            return [literal]
        try:
            async with asyncio.timeout(timeout):
                answers = await self._resolve(host, port)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(f"{host} was not resolved in time") from error
        except OSError as error:
            raise httpcore.ConnectError(f"{host} has no address: {error}") from error
        addresses = [_address(answer) for answer in answers]
        for answer, address in zip(answers, addresses, strict=True):
            if address is None:
                raise CapabilityForbidden(f"{host} leads to {answer!r}, which is no address of the internet")
            check_address(target.place, address, allowed=allowed)
        if not addresses:
            raise httpcore.ConnectError(f"{host} has no address")
        return [address for address in addresses if address is not None]


def _address(text: str) -> Address | None:
    """Read an address in its usual form; None for a name, and for one with a zone."""
    place = read_host_port(text)
    if place is None or place.port is not None:
        return None
    try:
        return ip_address(place.host)
    except ValueError:
        return None
