"""The rivals of a comparison: running servers, routers with the filters that they hold."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice

from cbnet.lab.bench.bench_input import Report
from cbnet.lab.bench.cpu import cpu_nanoseconds
from cbnet.lab.bench.router.load import Load
from cbnet.lab.bench.router.message_pool import MessagePool, random_filters
from cbnet.lab.bench.router.raw_link import RawLink
from cbnet.lab.bench.router.servers import SERVERS, ServerProcess
from cbnet.lab.bench.router.wire_formats import CbnetFormat

_PER_SUBSCRIPTION = 50  # filters
_SUBSCRIBERS = 100  # whose filters are counted too, as a router holds at most a million


@dataclass(frozen=True)
class Rival:
    """A server to measure."""

    server: ServerProcess
    filters: int | None  # content filters that a router holds; None for a broker

    @property
    def name(self) -> str:
        """The name of the server."""
        return self.server.kind.name

    @property
    def key(self) -> str:
        """A name that no other rival has."""
        return f"{self.name} {self.filters}"

    def cpu(self) -> int:
        """Return the processor time of the server, in ns."""
        return cpu_nanoseconds(self.server.pid)


def start_rivals(
    stack: ExitStack, servers: Sequence[str], filters: Sequence[int], seed: int, report: Report
) -> list[Rival]:
    """Start each server; routers once for each number of filters."""
    rivals = []
    for name in servers:
        for count in filters if name == "cbnet" else [None]:
            report(f"starting {name}" if count is None else f"starting a router with {count:,} filters")
            server = stack.enter_context(ServerProcess(SERVERS[name]))
            if count is not None and count > _SUBSCRIBERS:
                stack.callback(hold_filters(server, count - _SUBSCRIBERS, seed).close)
            rivals.append(Rival(server, count))
    return rivals


def hold_filters(server: ServerProcess, count: int, seed: int) -> RawLink:
    """Subscribe to random filters that no message matches, as a client of its own."""
    texts = random_filters(count, _messages(seed), seed)
    predicates = []
    while some := list(islice(texts, _PER_SUBSCRIPTION)):
        predicates.append(" or ".join(some))
    link = RawLink(server.target.port, server.target.authority)
    try:
        CbnetFormat().greet(link, "holder")
        CbnetFormat().subscribe(link, predicates)
    except BaseException:
        link.close()
        raise
    return link


def _messages(seed: int) -> MessagePool:
    """Return all messages of any case: smaller pools are the first ones of a larger one."""
    return Load(seed=seed).pool()
