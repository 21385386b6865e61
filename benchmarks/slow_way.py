"""A way to a server on loopback that takes as long as a network: what is sent arrives so much later.

`python -m benchmarks.slow_way PORT SECONDS` prints the port that it listens on. For each line on stdin it
prints how often a client has sent something after an answer since the line before: round trips.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from asyncio import StreamReader, StreamWriter
from collections import Counter
from contextlib import suppress


class SlowWay:
    """Passes bytes on between clients and one port, each `delay_s` seconds later."""

    def __init__(self, port: int, delay_s: float) -> None:
        self._port = port
        self._delay_s = delay_s
        self.trips = 0

    async def accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Connect a client to the server until one of them ends."""
        answers, server = await asyncio.open_connection("127.0.0.1", self._port)
        for end in (writer, server):
            end.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        spoke: Counter[str] = Counter()
        ways = [self._pass(reader, server, "client", spoke), self._pass(answers, writer, "server", spoke)]
        _, left = await asyncio.wait(map(asyncio.ensure_future, ways), return_when=asyncio.FIRST_COMPLETED)
        for task in left:
            task.cancel()
        await asyncio.sleep(self._delay_s)
        writer.close()
        server.close()

    async def _pass(self, source: StreamReader, target: StreamWriter, name: str, spoke: Counter[str]) -> None:
        with suppress(ConnectionError):
            while data := await source.read(1 << 16):
                self.trips += name == "client" and not spoke["client"]
                spoke.clear()
                spoke[name] = 1
                asyncio.get_running_loop().call_later(self._delay_s, _write, target, data)


def _write(target: StreamWriter, data: bytes) -> None:
    if not target.is_closing():
        target.write(data)


async def main(port: int, delay_s: float) -> None:
    """Serve until stdin ends."""
    way, lines = SlowWay(port, delay_s), StreamReader()
    server = await asyncio.start_server(way.accept, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while await lines.readline():
        print(way.trips, flush=True)
        way.trips = 0


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))
