"""Processes in PID and network namespaces of their own: what they reach outside is a socket in a file."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from benchmarks.counted_stage import CHILD_S, fork, join

NEW_USER, NEW_PID, NEW_MOUNTS = 0x10000000, 0x20000000, 0x00020000  # Source: unshare(2), linux/sched.h
NEW_NETWORK = 0x40000000
RECURSIVE, PRIVATE = 1 << 14, 1 << 18  # Source: mount(2), linux/mount.h
SET_FLAGS, UP = 0x8914, 1  # Source: netdevice(7), linux/sockios.h
LOOPBACK, CHUNK = "127.0.0.1", 65536


def permitted(more: int = 0) -> str:
    """Say why no PID namespace can be made here; empty when one can."""

    def work() -> None:
        join(in_namespace(lambda: None, more=more)[0])

    return "" if join(fork(work)) == 0 else "this machine permits no PID namespaces"


def in_namespace(work: Callable[[], object], seconds: int = CHILD_S, more: int = 0) -> tuple[int, int]:
    """Do something as process 1 of a PID namespace with a /proc of its own, and of `more` namespaces.

    Returns the pids of the process that waits for it, and its own as seen from here.
    """
    ours, theirs = os.pipe()

    def outer() -> None:
        _unshare(more)
        pid = fork(partial(_inner, work), seconds)
        os.write(theirs, str(pid).encode())
        os.close(theirs)
        if code := join(pid):
            os._exit(code if code > 0 else 128 - code)

    pid = fork(outer, 2 * seconds)
    os.close(theirs)
    inside = os.read(ours, 32)  # not to its end: the process inside holds the other end as long as it lives
    os.close(ours)
    return pid, int(inside or 0)


def signal_of(code: int) -> int:
    """Read how the process inside ended from the code of the one that waited: negative for a signal."""
    return 128 - code if code > 128 else code


def lead_out(port: int, place: Path, seconds: int) -> int:
    """Fork a process that leads from a socket in a file to a port of this machine; return its pid."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(place))
    place.chmod(0o666)
    server.listen(64)
    return _relay(server, lambda: socket.create_connection((LOOPBACK, port)), seconds)


def lead_in(port: int, place: Path, seconds: int) -> int:
    """Fork a process that leads from a port of this network namespace to a socket in a file."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sh22x", b"lo", UP))
    server = socket.create_server((LOOPBACK, port))

    def connect() -> socket.socket:
        out = socket.socket(socket.AF_UNIX)
        out.connect(str(place))
        return out

    return _relay(server, connect, seconds)


def _relay(server: socket.socket, connect: Callable[[], socket.socket], seconds: int) -> int:
    """Fork a process that takes connections and passes on what comes, both ways."""

    def work() -> None:
        while True:
            near, _ = server.accept()
            far = connect()
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=_pass_on, args=(source, target), daemon=True).start()

    pid = fork(work, seconds)
    server.close()
    return pid


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(CHUNK):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _unshare(more: int) -> None:
    user, group = os.getuid(), os.getgid()
    flags = NEW_PID | NEW_MOUNTS | more | (NEW_USER if user else 0)
    _checked(ctypes.CDLL(None, use_errno=True).unshare(flags))
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")


def _inner(work: Callable[[], object]) -> None:
    mount = ctypes.CDLL(None, use_errno=True).mount
    _checked(mount(b"none", b"/", None, RECURSIVE | PRIVATE, None))
    _checked(mount(b"proc", b"/proc", b"proc", 0, None))
    if os.getpid() != 1:
        raise RuntimeError("this is not process 1 of its namespace")
    work()


def _checked(code: int) -> None:
    if code:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
