"""Where a URL leads to: every hostile one of the benchmark is refused before anything is resolved."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

import benchmarks
from planwright.domain.errors import CapabilityForbidden, CapabilityRejected
from planwright.security.egress.target import Target, check_target, is_local, read_url, target_of
from planwright.settings.egress import EgressSettings

HOSTILE = Path(benchmarks.__path__[0]) / "ssrf_hostile.jsonl"
# Those that only resolving, or the reply, gives away.
LATER = ("dns", "location")


def place_of(url: str, *allow: str) -> Target:
    target = target_of(read_url(url))
    check_target(target, EgressSettings(allow=allow))
    return target


def test_no_hostile_url_of_the_benchmark_gets_as_far_as_dns() -> None:
    cases = [json.loads(line) for line in HOSTILE.read_text("utf-8").splitlines()]
    literal = [case["url"] for case in cases if not case.keys() & set(LATER)]
    assert len(literal) > 400
    passed = []
    for url in literal:
        try:
            passed.append((url, place_of(url)))
        except CapabilityRejected:
            continue
    assert not passed


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("http://A.Example", "a.example:80"),
        ("https://a.example/x", "a.example:443"),
        ("http://a.example:8080/", "a.example:8080"),
        ("http://bücher.example/", "xn--bcher-kva.example:80"),
        ("http://8.8.8.8/", "8.8.8.8:80"),
        ("http://[2606:4700:4700:0::1111]/", "[2606:4700:4700::1111]:80"),
    ],
)
def test_a_public_place_is_read_in_one_form(url: str, place: str) -> None:
    assert place_of(url).place == place


@pytest.mark.parametrize(
    ("url", "entry"),
    [
        ("http://127.0.0.1:8000/", "127.0.0.1:8000"),
        ("http://[::1]:8000/", "::1"),
        ("http://localhost/", "localhost"),
        ("http://a.internal/", "a.internal"),
        ("http://a.example:6379/", "a.example:6379"),
        ("http://169.254.169.254/", "169.254.169.254"),
    ],
)
def test_what_is_listed_passes_and_its_refusal_says_how_to_list_it(url: str, entry: str) -> None:
    assert place_of(url, entry)
    with pytest.raises(CapabilityForbidden) as refused:
        place_of(url)
    assert target_of(read_url(url)).place in refused.value.next_step


@pytest.mark.parametrize(
    ("url", "entry"),
    [
        ("http://127.0.0.1:8000/", "127.0.0.1:8001"),
        ("http://127.0.0.2/", "127.0.0.1"),
        ("http://2130706433/", "127.0.0.1"),
        ("http://127.1/", "127.0.0.1"),
        ("http://[::ffff:127.0.0.1]/", "127.0.0.1"),
        ("http://a.localhost/", "localhost"),
        ("http://a.example:6379/", "a.example"),
    ],
)
def test_an_entry_stands_for_itself_alone(url: str, entry: str) -> None:
    with pytest.raises(CapabilityForbidden):
        place_of(url, entry)


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("ftp://a.example/", CapabilityRejected),
        ("a.example", CapabilityRejected),
        ("http://", CapabilityRejected),
        ("http://a.example:port/", CapabilityRejected),
        ("http://u:p@a.example/", CapabilityForbidden),
        ("http://127.0.0.1/", CapabilityForbidden),
        ("http://0177.0.0.1/", CapabilityForbidden),
    ],
)
def test_a_slip_may_be_mended_and_a_hostile_place_may_not(url: str, kind: type[CapabilityRejected]) -> None:
    with pytest.raises(CapabilityRejected) as refused:
        place_of(url)
    assert type(refused.value) is kind


def test_a_url_that_was_read_elsewhere_is_held_to_the_same_form() -> None:
    for url in ("http://127。0。0。1/", "http://u@a.example/", "http://[fe80::1%25eth0]/", "http://a%2eb/"):
        with pytest.raises(CapabilityRejected):
            check_target(target_of(httpx.URL(url)), EgressSettings())


@pytest.mark.parametrize(
    ("host", "local"),
    [("a", True), ("a.local", True), ("a.localx", False), ("xlocal.example", False), ("metadata.goog", True)],
)
def test_local_names_are_whole_labels(host: str, local: bool) -> None:
    assert is_local(host) is local
