"""The rivals of a comparison: running servers, routers with the filters that they hold."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from cbnet_lab.bench.bench_input import Report
from cbnet_lab.bench.router.cases import Case
from cbnet_lab.bench.router.certificate import new_certificate
from cbnet_lab.bench.router.load import Load, Target
from cbnet_lab.bench.router.message_pool import random_filters
from cbnet_lab.bench.router.probe import PROBE
from cbnet_lab.bench.router.raw_link import RawLink
from cbnet_lab.bench.router.servers import ServerProcess
from cbnet_lab.bench.router.wire_formats import CbnetFormat

_PER_SUBSCRIPTION = 50  # filters
_SUBSCRIBERS = 101  # whose filters are counted too, as a router holds at most a million


@dataclass(frozen=True)
class RivalServer:
    """One or two servers to measure: publishers are at the first one, subscribers at the last one."""

    servers: Sequence[ServerProcess]
    filters: int | None = None  # content filters that a router holds; None for a broker
    holder: RawLink | None = None  # the client of all but the subscribers' filters

    @property
    def name(self) -> str:
        """The name of the server."""
        return self.servers[0].kind.name

    @property
    def key(self) -> str:
        """A name that no other rival of a case has."""
        return self.name if self.filters is None else f"{self.name}, {self.filters:,} filters"

    @property
    def targets(self) -> tuple[Target, Target]:
        """The servers of publishers and of subscribers."""
        return self.servers[0].target, self.servers[-1].target

    def cpu(self) -> list[int]:
        """Return the processor time of each server, in ns."""
        return [server.cpu() for server in self.servers]

    def check_holder(self) -> str | None:
        """Return what is wrong if the client of the other filters has received anything."""
        if self.holder is None:
            return None
        received = self.holder.receive_into(memoryview(bytearray(1 << 16)))
        return f"the client of the other filters received {received:,} bytes" if received else None


def start_rivals(
    stack: ExitStack, case: Case, servers: Sequence[str], filters: Sequence[int], seed: int, report: Report
) -> list[RivalServer]:
    """Start the servers of a case, and of all similar ones; routers once for each number of filters."""
    certificate = None
    if case.is_tls:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="cbnet-bench-"))
        certificate = new_certificate(Path(folder))
    rivals = []
    for name in servers:
        if name != "cbnet" and case.is_transit:
            continue
        for count in case.filters(filters) if name == "cbnet" else [None]:
            report(f"{case.name}: starting {name}" + (f", {count:,} filters" if count else ""))
            started = [stack.enter_context(ServerProcess(name, certificate))]
            if case.is_transit:
                first = started[0].target.port
                started.append(stack.enter_context(ServerProcess(name, certificate, neighbour=first)))
            holder = hold_filters(stack, started[-1].target, count - _SUBSCRIBERS, seed) if count else None
            rivals.append(RivalServer(started, count, holder))
    return rivals


def hold_filters(stack: ExitStack, target: Target, count: int, seed: int) -> RawLink | None:
    """Subscribe to random filters that no message matches, as a client of its own; not if there are none."""
    if count <= 0:
        return None
    link = RawLink(target.port, target.authority)
    stack.callback(link.close)
    client = CbnetFormat("")
    client.greet(link, "holder")
    client.subscribe(link, list(_predicates(count, seed)))
    return link.end_greeting()


def _predicates(count: int, seed: int) -> Iterator[str]:
    # The messages of all cases: smaller pools are the first messages of a larger one.
    pools = [Load(channel=channel, seed=seed).pool() for channel in (Load().channel, PROBE.channel)]
    texts = random_filters(count, pools, seed)
    while some := list(islice(texts, _PER_SUBSCRIPTION)):
        yield " or ".join(some)
