"""Ports on which something else than HTTP listens, and may act on a request it should never get."""

from __future__ import annotations

# Fetch Standard, section 2.5 "Port blocking": what every browser refuses.
_BROWSERS = (
    "0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115"
    " 117 119 123 135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563"
    " 587 601 636 989 990 993 995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667"
    " 6668 6669 6679 6697 10080"
)
# Line protocols that take commands out of a request (Redis, memcached …), databases, remote control:
# Docker, etcd, Kubernetes, SMB, SQL Server, Oracle, MySQL, RDP, PostgreSQL, VNC, WinRM, Redis,
# Cassandra, memcached, MongoDB.
_SERVERS = "445 1433 1521 2375 2376 2379 2380 3306 3389 5432 5900 5985 5986 6379 6443 9042 10250 11211 27017"

REFUSED_PORTS = frozenset(map(int, f"{_BROWSERS} {_SERVERS}".split()))
