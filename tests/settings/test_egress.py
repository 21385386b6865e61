"""The egress list: what an entry may look like, and what it stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from planwright.domain.errors import SetupError
from planwright.settings.egress import EgressSettings, HostPort, ends_in_number, read_host_port
from planwright.settings.settings import load


@pytest.mark.parametrize(
    ("entry", "place"),
    [
        ("a.example", HostPort("a.example", None)),
        ("A.Example:8080", HostPort("a.example", 8080)),
        ("localhost", HostPort("localhost", None)),
        ("127.0.0.1:80", HostPort("127.0.0.1", 80)),
        ("::1", HostPort("::1", None)),
        ("::1:80", HostPort("::1:80", None)),
        ("[::1]", HostPort("::1", None)),
        ("[0:0:0:0:0:0:0:1]:80", HostPort("::1", 80)),
        ("xn--bcher-kva.example", HostPort("xn--bcher-kva.example", None)),
    ],
)
def test_an_entry_is_a_host_with_or_without_a_port(entry: str, place: HostPort) -> None:
    assert read_host_port(entry) == place
    assert read_host_port(place.text) == place


@pytest.mark.parametrize(
    "entry",
    (
        "* *.example http://a.example a.example/x a.example: a.example:x a.example:70000 user@a.example 127.1"
        " 2130706433 0x7f000001 127.0.0.1. 80 .example a..example bücher.example [127.0.0.1] [::1"
        " fe80::1%eth0 a.example:１"
    ).split()
    + ["", " a.example", "a.example b.example"],
)
def test_what_is_no_entry_is_refused_with_its_line(tmp_path: Path, entry: str) -> None:
    (tmp_path / "planwright.toml").write_text(f'[egress]\nallow = ["b.example", "{entry}"]\n', "utf-8")
    with pytest.raises(SetupError, match=r"planwright\.toml:2: .*neither a host nor host:port"):
        load(tmp_path)


def test_a_port_is_named_only_by_an_entry_that_has_it() -> None:
    egress = EgressSettings(allow=("a.example", "b.example:6379"))
    assert egress.allows("a.example", 6379)
    assert not egress.names("a.example", 6379)
    assert egress.names("b.example", 6379)
    assert not egress.allows("b.example", 80)


def test_hosts_that_honour_keys_are_another_list() -> None:
    egress = EgressSettings(allow=("a.example",), idempotent=("b.example:443",))
    assert egress.honours_keys("b.example", 443)
    assert not egress.honours_keys("b.example", 80)
    assert not egress.honours_keys("a.example", 443)
    assert not egress.allows("b.example", 443)


@pytest.mark.parametrize(
    ("host", "number"),
    [
        ("1.2.3.4", True),
        ("a.0x7f", True),
        ("0x", True),
        ("9.", True),
        ("a.b4", False),
        ("0x7f.example", False),
    ],
)
def test_a_name_that_ends_in_a_number_may_be_taken_for_an_address(host: str, number: bool) -> None:
    assert ends_in_number(host) is number
