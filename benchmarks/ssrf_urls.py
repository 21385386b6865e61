"""Write down the hostile URLs of `benchmarks/ssrf.py`.

    python -m benchmarks.ssrf_urls > benchmarks/ssrf_hostile.jsonl

The blocks are copied from the registries of IANA by hand, not from what the product checks with.
Each line is a case: `url`, `why`, and where it needs them `dns` (name to the answers of each call,
the last ones repeated), `location` and `status` (what `start.example` redirects to) and `method`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any

Case = dict[str, Any]

# iana-ipv4-special-registry, multicast-addresses, and the address of Azure's host agent.
FOUR = (
    "0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24"
    " 192.0.0.0/29 192.0.0.8/32 192.0.0.9/32 192.0.0.10/32 192.0.0.170/32 192.0.0.171/32 192.0.2.0/24"
    " 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15"
    " 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 255.255.255.255/32 168.63.129.16/32"
).split()
# iana-ipv6-special-registry, multicast, site local, and what IANA has not given to anybody.
SIX = (
    "::1/128 ::/128 ::ffff:0:0/96 ::/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23"
    " 2001::/32 2001:1::1/128 2001:1::2/128 2001:1::3/128 2001:2::/48 2001:3::/32 2001:4:112::/48"
    " 2001:10::/28 2001:20::/28 2001:30::/28 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20 5f00::/16"
    " fc00::/7 fd00:ec2::254/128 fd20:ce::254/128 fe80::/10 fec0::/10 ff00::/8 4000::/3 e000::/4"
).split()
INNER = "127.0.0.1 127.1.2.3 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.100.100.200 0.0.0.0".split()
PUBLIC = "93.184.216.34"
WIDE = str.maketrans("0123456789", "０１２３４５６７８９")
RINGS = str.maketrans("123456789", "①②③④⑤⑥⑦⑧⑨")
NAMES = (
    "localhost LOCALHOST localhost. foo.localhost localhost.localdomain ip6-localhost"
    " metadata.google.internal METADATA.Google.Internal metadata.google.internal. metadata metadata.goog"
    " instance-data instance-data.ec2.internal kubernetes kubernetes.default.svc"
    " kubernetes.default.svc.cluster.local printer.local router.lan nas.home wiki.corp intranet"
    " www.intranet vault.internal box.home.arpa"
    " host.docker.internal gateway.docker.internal app.private hidden.onion"
    " ｌｏｃａｌｈｏｓｔ ⓛⓞⓒⓐⓛⓗⓞⓢⓣ loc\u00adalhost local\u200bhost ℓocalhost metadata。google。internal"
).split()
SCHEMES = (
    "file:///etc/passwd file://localhost/etc/passwd ftp://127.0.0.1/ gopher://127.0.0.1:6379/_INFO"
    " dict://127.0.0.1:11211/stats ldap://127.0.0.1/ tftp://127.0.0.1/x data:text/plain,hi"
    " javascript:alert(1) ws://127.0.0.1/ wss://127.0.0.1/ unix:///run/docker.sock"
    " http+unix://%2Frun%2Fdocker.sock/info jar:http://127.0.0.1!/x netdoc:///etc/passwd"
    " //127.0.0.1/ /etc/passwd 127.0.0.1 http:/127.0.0.1/ http:127.0.0.1 http:///127.0.0.1/"
    " http://?@127.0.0.1/ http://#@127.0.0.1/ http:// https://:443/"
    " sftp://10.0.0.1/"
).split()
DISGUISED = (
    "http://user:secret@web.example/",
    "http://user@web.example/",
    "http://web.example@127.0.0.1/",
    "http://127.0.0.1@web.example/",
    "http://web.example:80@127.0.0.1/",
    "http://@127.0.0.1/",
    "http://:@127.0.0.1/",
    "http://web.example%40127.0.0.1/",
    "http://web.example%2f@127.0.0.1/",
    "http://127.0.0.1%23@web.example/",
    "http://web.example\\@127.0.0.1/",
    "http://127.0.0.1\\@web.example/",
    "http:\\\\127.0.0.1\\",
    "http://web.example\\.127.0.0.1/",
    "http://127.0.0.1%00.web.example/",
    "http://127.0.0.1%2eweb.example/",
    "http://127.0.0.1\t/",
    "\thttp://127.0.0.1/",
    " http://127.0.0.1/",
    "http://127.0.0.1 .web.example/",
    "http://web.example\r\nHost:127.0.0.1/",
    "http://web.example/\r\nX-Injected: 1",
    "http://web.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "ht\ntp://127.0.0.1/",
    "http://127.0.0.1\u2028/",
    "http://web.example\u200b@127.0.0.1/",
    "http://127.0.0.1:80:80/",
    "http://web.example:65536/",
    "http://web.example:-1/",
    "http://web.example:8o/",
    "http://[::1/",
    "http://::1/",
    "http://[127.0.0.1]/",
    "http://[v1.fe80::1]/",
    "http://[::1]web.example/",
    "http://[::1%25lo]/",
    "http://[::1%lo]/",
    "http://[fe80::1%25eth0]/",
    "http://[::ffff:127.0.0.1%25lo]/",
    "http://[0000:0000:0000:0000:0000:0000:0000:0001]/",
    "http://[::]/",
    "http://[0:0:0:0:0:0:0:0]/",
    "http://[::00:1]/",
    "http://0/",
    "http://0x/",
    "http://00/",
    "http://127.0.1/",
    "http://127.1/",
    "http://127.0.0.1.5/",
    "http://web.example.127/",
    "http://web.example.0x7f/",
    "http://256.256.256.256/",
    "http://1.1.1.1.1/",
    "http://-web.example/",
    "http://web..example/",
    "http://.web.example/",
    "http://web.example./",
    "http://we_b!.example/",
    "http://" + "a" * 64 + ".example/",
    "http://" + "a." * 130 + "example/",
    "http://web.example/" + "a" * 9000,
)
PORTS = (
    "0 1 7 19 21 22 23 25 53 69 110 111 135 139 143 389 445 465 587 636 993 1433 2049 2375 2379 3306 3389"
    " 5432 5900 6000 6379 6667 9042 10080 10250 11211 27017"
).split()
STATUSES = (301, 302, 303, 307, 308)
LOCATIONS = (
    "http://127.0.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[::1]/",
    "//127.0.0.1/x",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://[::ffff:169.254.169.254]/",
    "http://localhost/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://start.example:6379/",
    "http://user@start.example/",
    "http://start.example@127.0.0.1/",
    "http://１２７.0.0.1/",
    "http://unlisted.example/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_INFO",
    "http:\\\\127.0.0.1\\",
    "\\\\127.0.0.1\\x",
    "http://start.example\\@127.0.0.1/",
)


def cases() -> Iterator[Case]:
    """List every case, each once."""
    seen = set()
    for case in _all():
        key = json.dumps(case, sort_keys=True)
        if key not in seen:
            seen.add(key)
            yield case


def _all() -> Iterator[Case]:
    for block in (*FOUR, *SIX):
        network = ip_network(block)
        for address in (network[0], network[-1]):
            host = _spelled(address) if address.version == 4 else f"[{_spelled(address)}]"
            yield {"url": f"http://{host}/", "why": f"{block}"}
        yield {
            "url": "http://inner.example/",
            "why": f"a name in {block}",
            "dns": {"inner.example": [[_spelled(network[-1])]]},
        }
    for inner in INNER:
        for why, host in spellings(IPv4Address(inner)):
            yield {"url": f"http://{host}/", "why": f"{inner} {why}"}
    yield from ({"url": f"http://{name}/", "why": "a local name"} for name in NAMES)
    yield from ({"url": f"https://{name}/", "why": "a local name"} for name in NAMES[:12])
    yield from ({"url": url, "why": "not http(s)"} for url in SCHEMES)
    yield from ({"url": url, "why": "in disguise"} for url in DISGUISED)
    yield from (
        {"url": f"http://web.example:{port}/", "why": "a port that is not for HTTP"} for port in PORTS
    )
    yield from _answers()
    yield from _redirects()


def _spelled(address: IPv4Address | IPv6Address) -> str:
    """Spell an address without the dots in a mapped one that newer Pythons put there."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(address) if mapped is None else f"::ffff:{int(mapped) >> 16:x}:{int(mapped) & 0xFFFF:x}"


def spellings(address: IPv4Address) -> Iterator[tuple[str, str]]:
    """Spell an IPv4 address in all the ways that some resolver or library takes."""
    number, text = int(address), str(address)
    a, b, c, d = address.packed
    low, high = number & 0xFFFF, number >> 16
    yield "decimal", str(number)
    yield "overflowing", str(number + 2**32)
    yield "hexadecimal", f"0x{number:08x}"
    yield "hexadecimal, large letters", f"0X{number:08X}"
    yield "hexadecimal, padded", f"0x000000{number:08x}"
    yield "octal", f"0{number:011o}"
    yield "hexadecimal parts", f"0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}"
    yield "octal parts", f"0{a:03o}.0{b:03o}.0{c:03o}.0{d:03o}"
    yield "three parts", f"{a}.{b}.{c * 256 + d}"
    yield "two parts", f"{a}.{number & 0xFFFFFF}"
    yield "mixed parts", f"0x{a:x}.{b}.0{c:o}.{d}"
    yield "padded with zeros", f"{a:03d}.{b:03d}.{c:03d}.{d:03d}"
    yield "a dot at its end", f"{text}."
    yield "wide digits", text.translate(WIDE)
    yield "digits in rings", text.translate(RINGS)
    yield "ideographic dots", text.replace(".", "。")
    yield "wide dots", text.replace(".", "．")
    yield "half-wide dots", text.replace(".", "｡")
    yield "one-dot leaders", text.replace(".", "․")
    yield "escaped", "".join(f"%{ord(char):02x}" for char in text)
    yield "mapped", f"[::ffff:{text}]"
    yield "mapped, hexadecimal", f"[::ffff:{high:x}:{low:x}]"
    yield "mapped, in full", f"[0:0:0:0:0:ffff:{high:x}:{low:x}]"
    yield "compatible", f"[::{text}]"
    yield "translated", f"[::ffff:0:{text}]"
    yield "NAT64", f"[64:ff9b::{text}]"
    yield "NAT64, hexadecimal", f"[64:ff9b::{high:x}:{low:x}]"
    yield "NAT64, local use", f"[64:ff9b:1::{text}]"
    yield "6to4", f"[2002:{high:x}:{low:x}::1]"
    yield "Teredo server", f"[2001:0:{high:x}:{low:x}::1]"
    yield "Teredo client", f"[{IPv6Address((0x20010000 << 96) + (number ^ 0xFFFFFFFF))}]"


def _answers() -> Iterator[Case]:
    """DNS answers that lead inside, mix, change or are no addresses."""
    services = {"127.0.0.1.nip.io": "127.0.0.1", "localtest.me": "127.0.0.1", "10-0-0-1.sslip.io": "10.0.0.1"}
    for name, answer in services.items():
        yield {
            "url": f"http://{name}/",
            "why": "a public name of an inner address",
            "dns": {name: [[answer]]},
        }
        yield {
            "url": f"https://{name}/",
            "why": "a public name of an inner address",
            "dns": {name: [[answer]]},
        }
    inner = (*INNER, "::1", "fd00::1", "fe80::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::")
    for answer in inner:
        for mixed in (
            [PUBLIC, answer],
            [answer, PUBLIC],
            [PUBLIC, "2606:4700:4700::1111", "8.8.8.8", "1.1.1.1", answer],
        ):
            yield {
                "url": "http://mixed.example/",
                "why": "answers that mix",
                "dns": {"mixed.example": [mixed]},
            }
        changing = {"changing.example": [[answer], [PUBLIC]]}
        yield {"url": "http://changing.example/", "why": "an answer that changes", "dns": changing}
    for odd in (
        "fe80::1%eth0",
        "::1%lo",
        "0177.0.0.1",
        "2130706433",
        "localhost",
        "",
        "127.1",
        "[::1]",
        "127.0.0.1:80",
    ):
        yield {
            "url": "http://odd.example/",
            "why": "an answer that is no address",
            "dns": {"odd.example": [[odd]]},
        }


def _redirects() -> Iterator[Case]:
    for location in LOCATIONS:
        for status in STATUSES:
            yield {
                "url": "http://start.example/",
                "why": "a redirect",
                "status": status,
                "location": location,
            }
    for status in (307, 308):
        for location in LOCATIONS[:9]:
            case = {"url": "http://start.example/", "why": "a redirect of a POST", "status": status}
            yield {**case, "location": location, "method": "POST"}
    for status in STATUSES:
        turned = {"start.example": [[PUBLIC], ["127.0.0.1"]]}
        case = {
            "url": "http://start.example/",
            "why": "a redirect to a name that has changed",
            "status": status,
        }
        yield {**case, "location": "https://start.example/", "dns": turned}
        down = {"url": "https://start.example/", "why": "a redirect without encryption", "status": status}
        yield {**down, "location": "http://start.example/"}


if __name__ == "__main__":
    for case in cases():
        sys.stdout.write(json.dumps(case) + "\n")
