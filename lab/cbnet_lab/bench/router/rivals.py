"""The rivals of a comparison: running servers, routers with the filters that they hold."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from cbnet.network.service.process_network import free_ports
from cbnet_lab.bench.plans import Report, RouterPlan
from cbnet_lab.bench.router.generators import PROBE
from cbnet_lab.bench.router.load import Case, Load, Target
from cbnet_lab.bench.router.message_pool import random_filters
from cbnet_lab.bench.router.raw_link import RawLink
from cbnet_lab.bench.router.router_client import RouterClient
from cbnet_lab.bench.router.servers import SERVERS, Options, ServerKind, new_certificate
from cbnet_lab.bench.server_process import ServerProcess, running_server

_PER_SUBSCRIPTION = 50  # filters
_SUBSCRIBERS = 101  # whose filters are counted too, as a router holds at most a million


@dataclass(frozen=True)
class RivalServer:
    """One or two servers to measure: publishers are at the first one, subscribers at the last one."""

    kind: ServerKind
    servers: Sequence[ServerProcess]
    authority: str | None  # file of the certificate to trust; None: without TLS
    filters: int | None = None  # content filters that a router holds; None for a broker
    holder: RawLink | None = None  # the client of all but the subscribers' filters

    @property
    def key(self) -> str:
        """A name that no other rival of a case has."""
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
    """Start the servers of a case, and of all similar ones; routers once for each number of filters."""
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
            for port in free_ports(2 if case.is_transit else 1):
                options = Options(port, certificate, started[0].port if started else None)
                started.append(stack.enter_context(running_server(kind.setup(options), port)))
            holder = None
            if count is not None and count > _SUBSCRIBERS:
                holder = _hold_filters(stack, started[-1].port, authority, count - _SUBSCRIBERS, plan.seed)
            rivals.append(RivalServer(kind, started, authority, count, holder))
    return rivals


def _hold_filters(stack: ExitStack, port: int, authority: str | None, count: int, seed: int) -> RawLink:
    """Subscribe to random filters that no message matches, as a client of its own."""
    client = RouterClient(RawLink(port, authority), "holder")
    stack.callback(client.link.close)
    # The messages of all cases: smaller pools are the first messages of a larger one.
    pools = [Load(channel=channel, seed=seed).pool() for channel in (Load().channel, PROBE.channel)]
    client.subscribe(list(random_filters(count, pools, seed)), _PER_SUBSCRIPTION)
    return client.link.end_greeting()
