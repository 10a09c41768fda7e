"""The measured servers: one process each, with its own port and folder, for as long as a `with` block.

An installed service, its configuration and its data are not touched.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version as package_version
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from cbnet.errors import CbnetError
from cbnet.lab.bench.router.load import Target
from cbnet.lab.bench.router.raw_link import RawLink
from cbnet.network.service.process_network import free_ports

_STOP_TIMEOUT = 10.0  # seconds
# Silence is no failure here: a waiting client sends nothing for minutes.
_PATIENT = ("--set", "heartbeat=1800", "--set", "dead=3600")


@dataclass(frozen=True)
class Certificate:
    """A self-signed certificate for 127.0.0.1, which clients trust."""

    file: str
    key: str


@dataclass(frozen=True)
class Setup:
    """Command and configuration file of a server."""

    command: tuple[str, ...]
    configuration: str = ""  # text of the file `server.conf` in its folder


@dataclass(frozen=True)
class ServerKind:
    """A server that can be measured."""

    name: str
    program: str
    setup: Callable[[int, Certificate | None], Setup]
    version_option: str = ""

    @property
    def is_installed(self) -> bool:
        """Whether its program is found."""
        return self.name == "cbnet" or shutil.which(self.program) is not None

    def version(self) -> str:
        """Return the program's version."""
        if self.name == "cbnet":
            return f"cbnet {package_version('cbnet')}"
        ran = subprocess.run([self.program, self.version_option], capture_output=True, text=True, check=False)
        return ran.stdout.splitlines()[0]


def _cbnet(port: int, certificate: Certificate | None, *more: str) -> Setup:
    listen = ("--name", "a", "--listen", f"127.0.0.1:{port}")
    secure = () if certificate is None else (
        "--set", f"certificate={certificate.file}", "--set", f"key={certificate.key}",
        "--set", f"authority={certificate.file}",
    )  # fmt: skip
    return Setup((sys.executable, "-m", "cbnet", "router", *listen, *_PATIENT, *secure, *more))


def _nats(port: int, certificate: Certificate | None) -> Setup:
    secure = () if certificate is None else ("--tls", "--tlscert", certificate.file, "--tlskey", certificate.key)
    return Setup(("nats-server", "-a", "127.0.0.1", "-p", str(port), *secure))


def _redis(port: int, certificate: Certificate | None) -> Setup:
    listen: tuple[str, ...] = ("--port", str(port))
    if certificate is not None:
        listen = (
            "--port", "0", "--tls-port", str(port), "--tls-cert-file", certificate.file,
            "--tls-key-file", certificate.key, "--tls-ca-cert-file", certificate.file, "--tls-auth-clients", "no",
        )  # fmt: skip
    limits = ("--save", "", "--appendonly", "no", "--client-output-buffer-limit", "pubsub 0 0 0")
    return Setup(("redis-server", "--bind", "127.0.0.1", *listen, *limits))


def _mosquitto(port: int, certificate: Certificate | None) -> Setup:
    lines = [f"listener {port} 127.0.0.1", "allow_anonymous true", "max_queued_messages 0", "log_type error"]
    if certificate is not None:
        lines += [f"certfile {certificate.file}", f"keyfile {certificate.key}"]
    return Setup(("mosquitto", "-c", "server.conf"), "\n".join(lines) + "\n")


SERVERS: Final = {
    kind.name: kind
    for kind in (
        ServerKind("cbnet", "cbnet", _cbnet),
        ServerKind("nats", "nats-server", _nats, "-v"),
        ServerKind("redis", "redis-server", _redis, "--version"),
        ServerKind("mosquitto", "mosquitto", _mosquitto, "-h"),
    )
}


class ServerProcess:
    """A running server."""

    def __init__(self, kind: ServerKind, certificate: Certificate | None = None) -> None:
        """Prepare a server; it starts with the `with` block."""
        self.kind = kind
        (self._port,) = free_ports(1)
        self.setup = kind.setup(self._port, certificate)
        self.target = Target(kind.name, self._port, None if certificate is None else certificate.file)
        self._folder = Path(tempfile.mkdtemp(prefix="cbnet-bench-"))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def configuration(self) -> str:
        """Its command line, and its configuration file if it has one."""
        return "\n".join([shlex.join(self.setup.command), *self.setup.configuration.splitlines()])

    @property
    def pid(self) -> int:
        """The server's process."""
        assert self._process is not None
        return self._process.pid

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> None:
        (self._folder / "server.conf").write_text(self.setup.configuration)
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
            RawLink(self._port).close()
        except CbnetError:
            lines = (self._folder / "output").read_text(errors="replace").splitlines() or ["no output"]
            raise CbnetError(f"{self.kind.program} did not start: {lines[-1]}") from None

    def close(self) -> None:
        """Stop the server and remove its folder."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
