"""The measured servers: one process each, with its own port and folder, for as long as a `with` block.

An installed service, its configuration and its data are not touched.
"""

from __future__ import annotations

import getpass
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version as package_version
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

import psutil

from cbnet.errors import CbnetError
from cbnet.network.service.process_network import free_ports
from cbnet_lab.bench.cpu import cpu_nanoseconds
from cbnet_lab.bench.router.certificate import Certificate
from cbnet_lab.bench.router.load import Target

_START_TIMEOUT = 60.0  # seconds, for a busy machine
_STOP_TIMEOUT = 10.0  # seconds
# Silence is no failure here: clients wait, and are sent nothing, while others subscribe to a million filters. A ping,
# after half an hour, was once taken for a message.
_PATIENT = ("--set", "heartbeat=40000", "--set", "dead=80000", "--set", "silence=90000")
ROUTER_NAMES = ("a", "b", "c")  # in a chain


class Options(NamedTuple):
    """Options of a server."""

    port: int
    certificate: Certificate | None  # None: without TLS
    neighbour: int | None  # port of the router before this one in a chain, if it is not the first
    place: int = 1  # in the chain, if it is not the first


class Setup(NamedTuple):
    """Command and configuration file of a server."""

    command: tuple[str, ...]
    configuration: str = ""  # text of the file `server.conf` in its folder


@dataclass(frozen=True)
class ServerKind:
    """A server that can be measured."""

    name: str
    program: str
    setup: Callable[[Options], Setup]
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


def _cbnet(options: Options) -> Setup:
    more: list[str] = []
    place = 0 if options.neighbour is None else options.place
    if options.neighbour is not None:
        more += ("--neighbour", f"{ROUTER_NAMES[place - 1]}=127.0.0.1:{options.neighbour}")
    if options.certificate is not None:
        file, key = options.certificate.file, options.certificate.key
        more += ("--set", f"certificate={file}", "--set", f"key={key}", "--set", f"authority={file}")
    listen = ("--name", ROUTER_NAMES[place], "--listen", f"127.0.0.1:{options.port}")
    return Setup((sys.executable, "-m", "cbnet", "router", *listen, *_PATIENT, *more))


def _nats(options: Options) -> Setup:
    secure: tuple[str, ...] = ()
    if options.certificate is not None:
        secure = ("--tls", "--tlscert", options.certificate.file, "--tlskey", options.certificate.key)
    return Setup(("nats-server", "-a", "127.0.0.1", "-p", str(options.port), *secure))


def _redis(options: Options) -> Setup:
    listen: tuple[str, ...] = ("--port", str(options.port))
    if options.certificate is not None:
        file, key = options.certificate.file, options.certificate.key
        listen = (
            "--port", "0", "--tls-port", str(options.port), "--tls-cert-file", file, "--tls-key-file", key,
            "--tls-ca-cert-file", file, "--tls-auth-clients", "no",
        )  # fmt: skip
    limits = ("--save", "", "--appendonly", "no", "--client-output-buffer-limit", "pubsub 0 0 0")
    return Setup(("redis-server", "--bind", "127.0.0.1", *listen, *limits))


def _mosquitto(options: Options) -> Setup:
    lines = [f"listener {options.port} 127.0.0.1", "allow_anonymous true", "max_queued_messages 0", "log_type error"]
    lines.append(f"user {getpass.getuser()}")  # started by root it would become another user, who cannot read the key
    if options.certificate is not None:
        lines += [f"certfile {options.certificate.file}", f"keyfile {options.certificate.key}"]
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

    def __init__(
        self, name: str, certificate: Certificate | None = None, neighbour: int | None = None, place: int = 1
    ) -> None:
        """Prepare a server; it starts with the `with` block. neighbour, place: of a router that is not the first."""
        self.kind = SERVERS[name]
        (port,) = free_ports(1)
        self._setup = self.kind.setup(Options(port, certificate, neighbour, place))
        self.target = Target(name, port, None if certificate is None else certificate.file)
        self._folder = Path(tempfile.mkdtemp(prefix="cbnet-bench-"))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def configuration(self) -> str:
        """Its command line, and its configuration file if it has one."""
        return "\n".join([shlex.join(self._setup.command), *self._setup.configuration.splitlines()])

    def cpu(self) -> int:
        """Return its processor time, in ns."""
        process = self._process
        if process is None or process.poll() is not None:
            raise CbnetError(f"{self.kind.program} has ended: {self._last_line()}")
        return cpu_nanoseconds(process.pid)

    def memory(self) -> int:
        """Return its resident memory, in bytes."""
        assert self._process is not None
        return int(psutil.Process(self._process.pid).memory_info().rss)

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
        (self._folder / "server.conf").write_text(self._setup.configuration)
        with (self._folder / "output").open("wb") as output:
            self._process = subprocess.Popen(
                self._setup.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self._folder,
                start_new_session=True,  # Ctrl-C goes to this process, which stops the server
            )
        end = time.monotonic() + _START_TIMEOUT
        while not _listens(self.target.port):
            if self._process.poll() is not None or time.monotonic() > end:
                raise CbnetError(f"{self.kind.program} did not start: {self._last_line()}")
            time.sleep(0.05)

    def _last_line(self) -> str:
        lines = (self._folder / "output").read_text(errors="replace").splitlines()
        return lines[-1] if lines else "no output"

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


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
