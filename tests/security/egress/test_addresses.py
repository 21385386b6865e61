"""The table of blocks: every block of IANA's registries is in it, and decides by its longest prefix."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest

from benchmarks.ssrf_urls import FOUR, SIX
from planwright.security.egress.addresses import BLOCKS, block_of
from planwright.security.egress.ports import REFUSED_PORTS

LOCAL = (
    "10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 172.16.0.0/12 192.168.0.0/16 198.18.0.0/15 ::1/128 fc00::/7".split()
)


@pytest.mark.parametrize("block", [*FOUR, *SIX])
def test_no_special_block_is_global(block: str) -> None:
    network = ip_network(block)
    for address in (network[0], network[network.num_addresses // 2], network[-1]):
        assert block_of(address).reach != "global"


@pytest.mark.parametrize("block", LOCAL)
def test_a_listed_host_may_be_in_a_private_network(block: str) -> None:
    assert block_of(ip_network(block)[1 if "/128" not in block else 0]).reach == "local"


@pytest.mark.parametrize(
    ("address", "reach"),
    [
        ("9.255.255.255", "global"),
        ("11.0.0.0", "global"),
        ("100.63.255.255", "global"),
        ("100.128.0.0", "global"),
        ("126.255.255.255", "global"),
        ("172.15.255.255", "global"),
        ("172.32.0.0", "global"),
        ("192.0.1.0", "global"),
        ("223.255.255.255", "global"),
        ("2001:200::", "global"),
        ("2003::", "global"),
        ("2606:4700::1111", "global"),
        ("1fff:ffff::", "refused"),
        ("4000::", "refused"),
        ("100.100.100.199", "local"),
        ("100.100.100.200", "refused"),
        ("168.63.129.15", "global"),
        ("168.63.129.16", "refused"),
        ("fd00:ec2::253", "local"),
        ("fd00:ec2::254", "refused"),
        ("::2", "refused"),
    ],
)
def test_the_neighbours_of_a_block_are_what_they_are(address: str, reach: str) -> None:
    assert block_of(ip_address(address)).reach == reach


def test_every_block_has_a_source_and_stands_there_once() -> None:
    assert all(block.source and block.purpose for block in BLOCKS)
    assert len({block.network for block in BLOCKS}) == len(BLOCKS)


def test_ports_of_the_web_are_not_refused() -> None:
    assert not REFUSED_PORTS & {80, 443, 3000, 5000, 8000, 8080, 8443, 9000}
