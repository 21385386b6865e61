"""A PostgreSQL server for tests: in a folder of its own, for this machine alone, ended by its process.

`initdb` and `postgres` refuse to run as root; then they run as the user that Debian's package makes.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psycopg

from tests.patience import PATIENCE_S

MISSING = "PostgreSQL is not installed: as root on Debian, `make postgres` installs it"
DEBIAN = Path("/usr/lib/postgresql")
USERS = ("postgres", "nobody")
PASSWORD = "long-enough-to-be-hidden"
SETTINGS = {
    "fsync": "off",  # no test takes the power away, and processes that are killed lose nothing by it
    "max_connections": "300",
    "shared_buffers": "32MB",
    "autovacuum": "off",
    "log_min_messages": "fatal",
    "listen_addresses": "127.0.0.1",
}


def programs() -> Path | None:
    """Find the folder of `initdb` and `postgres`, the newest that there is."""
    folders = [DEBIAN / version / "bin" for version in _versions()]
    named = shutil.which("initdb")
    folders += [Path(named).parent] if named else []
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


def _versions() -> list[str]:
    names = [path.name for path in DEBIAN.glob("*")] if DEBIAN.is_dir() else []
    return sorted(names, key=lambda name: -float(name))


@dataclass
class PostgresServer:
    """A server with one database, `planwright`."""

    folder: Path
    """Its folder, with the data and the socket."""
    port: int
    """Port on the loopback address, where a password is asked for; on the socket none is."""
    process: subprocess.Popen[bytes]
    """The server itself."""
    user: str
    """User of the machine that it runs as."""

    @classmethod
    def start(cls) -> Self:
        """Make a server in a new folder and wait until it answers."""
        binaries, user, folder = programs(), _user(), new_folder()
        assert binaries is not None, MISSING
        password = folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        data = folder / "data"
        made: list[str | Path] = [
            binaries / "initdb",
            "-D",
            data,
            "-U",
            "postgres",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
        ]
        made += ["--no-sync", "--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={password}"]
        subprocess.run(made, check=True, capture_output=True, timeout=PATIENCE_S, **_as(user, folder))
        port = _free_port()
        server = cls(folder, port, cls._run(folder, user, port), user)
        server.wait()
        with server.connect("postgres") as connection:
            connection.execute("CREATE DATABASE planwright")
        return server

    @classmethod
    def of_copy(cls, folder: Path) -> Self:
        """Start the server that a base backup in a folder is of; it answers as soon as it may be read."""
        user, port = _user(), _free_port()
        server = cls(folder, port, cls._run(folder, user, port), user)
        server.wait()
        return server

    def take_copy(self, folder: Path, *, standby: bool = False) -> None:
        """Take a base backup into a folder of `new_folder`; a `standby` follows this server from there."""
        binaries = programs()
        assert binaries is not None, MISSING
        command: list[str | Path] = [binaries / "pg_basebackup", "-D", folder / "data", "-h", self.folder]
        command += ["-p", str(self.port), "-U", "postgres", "--checkpoint=fast", "--no-sync"]
        command += ["--write-recovery-conf"] if standby else []
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S, **_as(self.user, folder))

    def catch_up(self, primary: PostgresServer) -> None:
        """Wait until this standby has all that its primary has committed by now."""
        with primary.connect() as connection:
            (place,) = connection.execute("SELECT pg_current_wal_lsn()::text").fetchone() or ("",)
        deadline, query = time.monotonic() + PATIENCE_S, "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"
        with self.connect() as connection:
            while connection.execute(query, (place,)).fetchone() != (True,):
                assert time.monotonic() < deadline, "the standby does not follow"
                time.sleep(0.01)

    def kill(self) -> None:
        """End it at once, also from a process that did not start it, and return when it is gone."""
        deadline, file = time.monotonic() + PATIENCE_S, self.folder / "data" / "postmaster.pid"
        os.kill(self.process.pid, signal.SIGQUIT)
        while file.exists():
            assert time.monotonic() < deadline, "the server does not end"
            time.sleep(0.01)

    def promote_alone(self) -> None:
        """Start a standby that was killed, with nobody to follow, and make it a primary."""
        self.process.wait(PATIENCE_S)
        with (self.folder / "data" / "postgresql.auto.conf").open("a") as settings:
            settings.write("primary_conninfo = ''\n")
        self.again()
        with self.connect() as connection:
            assert connection.execute("SELECT pg_promote()").fetchone() == (True,)

    @staticmethod
    def _run(folder: Path, user: str, port: int) -> subprocess.Popen[bytes]:
        binaries = programs()
        assert binaries is not None, MISSING
        options = {**SETTINGS, "port": str(port), "unix_socket_directories": str(folder)}
        arguments = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with (folder / "log").open("ab") as log:
            return subprocess.Popen(
                [binaries / "postgres", "-D", folder / "data", *arguments],
                stdout=log,
                stderr=log,
                **_as(user, folder),
            )

    def again(self) -> None:
        """Start it once more after it was stopped."""
        self.process = self._run(self.folder, self.user, self.port)
        self.wait()

    def wait(self) -> None:
        """Wait until it answers."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                self.connect("postgres").close()
                return
            except psycopg.OperationalError:
                assert time.monotonic() < deadline, (self.folder / "log").read_text()
                assert self.process.poll() is None, (self.folder / "log").read_text()
                time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """End it, at once unless said otherwise (postgresql.org/docs/current/server-shutdown.html)."""
        self.process.send_signal(how)
        self.process.wait(PATIENCE_S)

    def remove(self) -> None:
        """End it and remove its folder."""
        if self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, schema: str = "planwright", database: str = "planwright") -> str:
        """Write the address of a store, by its socket."""
        return (
            f"postgresql://postgres@/{database}?host={self.folder}&port={self.port}"
            f"&options=-csearch_path%3D{schema}"
        )

    def connect(self, database: str = "planwright") -> psycopg.Connection[Any]:
        """Open a session beside the program."""
        return psycopg.connect(
            host=str(self.folder), port=self.port, user="postgres", dbname=database, autocommit=True
        )

    def wait_for_waiter(self) -> None:
        """Wait until somebody waits for a lock. Fails when nobody does in time."""
        deadline = time.monotonic() + PATIENCE_S
        with self.connect() as connection:
            while connection.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone() is None:
                assert time.monotonic() < deadline, "nobody waited for a lock"
                time.sleep(0.01)

    def backends(self) -> list[int]:
        """List the processes of the server that serve sessions of the program."""
        query = "SELECT pid FROM pg_stat_activity WHERE application_name = 'planwright' ORDER BY pid"
        with self.connect() as connection:
            return [row[0] for row in connection.execute(query)]


PLACE = "/tmp"  # its user may not look into the temporary folders of the tests


def new_folder() -> Path:
    """Make a folder that the user of the servers may use."""
    folder = Path(tempfile.mkdtemp(prefix="planwright-pg-", dir=PLACE))
    shutil.chown(folder, _user())
    return folder


def _user() -> str:
    """Name the user that the server runs as: whoever runs the tests, unless that is root."""
    if os.getuid() != 0:
        return pwd.getpwuid(os.getuid()).pw_name
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in USERS if name in names)


def _as(user: str, folder: Path) -> dict[str, Any]:
    who = pwd.getpwnam(user)
    other = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []} if os.getuid() == 0 else {}
    return {**other, "cwd": folder, "stdin": subprocess.DEVNULL}


def _free_port() -> int:
    """Ask the machine for a port that nobody uses; in a process of its own, for tests open no sockets."""
    ask = "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])"
    answer = subprocess.run([sys.executable, "-S", "-c", ask], check=True, capture_output=True, text=True)
    return int(answer.stdout)
