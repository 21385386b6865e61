"""What kind of address an address is, by the registries of IANA kept in `blocks.csv`.

`ipaddress.is_global` is not asked: it says yes to multicast and, in Python 3.11.7 and 3.12.1 but not
in 3.13, to 64:ff9b:1::/48 and 2002::/16 (CPython issue 113171).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from importlib.resources import files
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Literal, NamedTuple, cast

Address = IPv4Address | IPv6Address
Reach = Literal["global", "local", "refused"]


class AddressBlock(NamedTuple):
    """A block of addresses: reachable by anybody, by a listed host only, or never by a name."""

    network: IPv4Network | IPv6Network
    """The addresses of the block."""
    reach: Reach
    """Whether anybody may be reached there, only a listed host, or nobody by a name."""
    purpose: str
    """What the block is for, in words."""
    source: str
    """Document that sets the block apart."""


def read_table(name: str) -> Iterator[dict[str, str]]:
    """Read a table of this folder, row by row."""
    text = files(__package__).joinpath(name).read_text("utf-8")
    yield from csv.DictReader(text.splitlines())


BLOCKS = tuple(
    sorted(
        (
            AddressBlock(ip_network(row["block"]), cast(Reach, row["reach"]), row["what"], row["source"])
            for row in read_table("blocks.csv")
        ),
        key=lambda block: -block.network.prefixlen,
    )
)


def block_of(address: Address) -> AddressBlock:
    """Find the most specific block that holds an address; every address is in one."""
    return next(
        block for block in BLOCKS if block.network.version == address.version and address in block.network
    )
