"""The churn trial: waits of other clients while clients with very many filters subscribe, unsubscribe and vanish.

    publisher, ping ─► router a ── router b ◄─ subscriber, ping, new clients          the prober
                                       ▲
                                       ├───── clients that stay, and clients that come and go
                                       └───── router c, in some phases

Each phase ends when both routers hold the required filters, so it includes the work done in the background.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from cbnet.errors import CbnetError, InputError
from cbnet.network import ProcessNetwork, Settings
from cbnet_lab.bench.plans import Report
from cbnet_lab.bench.processes import WorkerProcess
from cbnet_lab.bench.result_table import FLAT, ResultTable
from cbnet_lab.bench.router.load import random_filters
from cbnet_lab.bench.router.router_client import ClientAccess, RawLink, RouterClient
from cbnet_lab.bench.timing import cpu_meter
from cbnet_lab.faults.check.checker import settled_checker
from cbnet_lab.faults.driver.router_output import RouterOutput
from cbnet_lab.faults.plans import ChurnPlan
from cbnet_lab.faults.prober import MAX_MESSAGE_MS, MAX_PING_MS, PROBES, LongestWaits, Probed, probe
from cbnet_lab.faults.record import CompareEvent

_CROWD, _CROWD_FILTERS = 20, 1_000  # clients that vanish together, and the filters of each
_COVERED = 4_000  # filters covered by one that is unsubscribed
_HOLDERS = 10
_LEAST_HELD = 1_000  # minimum filters of clients that stay: with fewer, a filter may cover far from half of them
_THIRD = "c"  # the router that runs in some phases
_PER_SUBSCRIPTION = 50  # filters of clients with very many
_START, _TIMEOUT = 60.0, 3600.0  # timeouts for routers to start and for a phase to end, in seconds
_MAX_BACKLOG = 200  # messages in flight at the end of a phase: as many as are sent in a second
_POLL = 0.05  # seconds
_DRAIN = 10.0  # timeout for the last messages, in seconds


@dataclass(frozen=True)
class PhaseResult:
    """The longest waits of other clients in a phase."""

    phase: str
    seconds: float
    cpu_s: Sequence[float]  # of the routers
    waits: LongestWaits = field(metadata=FLAT)
    problem: str | None = None


def run(plan: ChurnPlan, report: Report) -> Iterator[PhaseResult]:
    """Yield the result of each phase; the routers run until the iterator ends or is closed."""
    passing = _passing(plan)
    if passing + _LEAST_HELD > plan.filters:
        raise InputError(
            f"the clients that come and go have {passing:,} filters, and those that stay need {_LEAST_HELD:,} more",
            hint=f"use --filters {passing + _LEAST_HELD}, or more",
        )
    # Silence is not a failure here: clients receive nothing while others subscribe to very many filters.
    settings = [Settings(name, heartbeat=40_000.0, dead=80_000.0, silence=90_000.0) for name in "abc"]
    with (
        RouterOutput() as output,
        ProcessNetwork(settings, [("b", "a"), (_THIRD, "b")], stderr=output.file) as network,
    ):
        network.wait(_START)
        network.stop(_THIRD)
        routers = [ClientAccess(network.addresses[name].port) for name in "ab"]
        with closing(WorkerProcess("the prober", probe, routers)) as prober:
            yield from _Trial(plan, network, output, prober, report).phases()


def _passing(plan: ChurnPlan) -> int:
    """Return the number of filters of the clients that come and go."""
    return sum(plan.vanishing) + _CROWD * _CROWD_FILTERS + _COVERED


def tables(_plan: ChurnPlan, rows: Sequence[PhaseResult]) -> Iterator[str | ResultTable[PhaseResult]]:
    """Yield the waits of each phase, and whether they are within the goals."""
    yield ResultTable("Longest wait in each phase", rows, {
        "phase": "phase", "seconds": "seconds", "CPU s: a": lambda row: row.cpu_s[0], "b": lambda row: row.cpu_s[1],
        "ping ms": "ping_ms", "message ms": "message_ms", "connect ms": "connect_ms", "prober late ms": "late_ms",
    })  # fmt: skip
    verdict = "met" if all(row.waits.is_within_goals for row in rows) else "missed"
    yield f"goals {verdict}: no ping above {MAX_PING_MS} ms, no message above {MAX_MESSAGE_MS} ms."
    if not any(row.problem for row in rows):
        yield "answers: every message arrived once, in order; both routers hold what they must after each phase."


class _Trial:
    """The clients of a running trial."""

    def __init__(
        self, plan: ChurnPlan, network: ProcessNetwork, output: RouterOutput, prober: WorkerProcess, report: Report
    ) -> None:
        self._plan, self._network, self._prober, self._report = plan, network, prober, report
        self._output = output
        self._watchers = {name: self._client(name, "watcher") for name in "ab"}
        self._announced = 0  # filters announced by router b to router a at the end of the last phase
        self._checker = settled_checker(PROBES)
        self._texts = random_filters(plan.filters, [], plan.seed)
        self._backlog = 0  # messages in flight
        self._take()
        self._clients: list[RouterClient] = []
        self._crowd: list[RouterClient] = []

    def phases(self) -> Iterator[PhaseResult]:
        """Yield the result of each phase."""
        held = self._plan.filters - _passing(self._plan)
        shares = [held * (index + 1) // _HOLDERS - held * index // _HOLDERS for index in range(_HOLDERS)]
        yield self._phase(
            f"{_HOLDERS} clients subscribe to {held:,} filters", lambda: self._add(self._clients, filter(None, shares))
        )
        yield self._phase(
            f"{_CROWD} clients subscribe to {_CROWD_FILTERS:,} filters each",
            lambda: self._add(self._crowd, [_CROWD_FILTERS] * _CROWD, 1),
        )
        ids = range(1, _CROWD_FILTERS // 2 + 1)
        yield self._phase("unsubscribe one by one half of a client's filters", lambda: self._crowd[0].unsubscribe(ids))
        yield self._phase(f"{_CROWD} clients vanish", lambda: self._vanish(self._crowd))
        yield self._phase(f"subscribe to a filter that covers {_COVERED:,}", self._cover)
        yield self._phase("unsubscribe it", lambda: self._clients[-1].unsubscribe([_COVERED + 1]))
        before = self._announced
        random = before - _COVERED  # random filters, about half of which are covered
        half = range(int(0.4 * random) + _COVERED, int(0.6 * random) + _COVERED)
        cover_half = lambda: self._clients.append(self._new("covering half", ['dest < "N"']))  # noqa: E731
        yield self._phase("subscribe to a filter that covers half of all", cover_half, half)
        yield self._phase("unsubscribe it", self._uncover_half, range(before, before + 1))
        yield self._phase("a router connects, to which all filters are announced", self._begin_third)
        yield self._phase("it stops", self._end_third)
        for count in self._plan.vanishing:
            yield self._phase(f"a client subscribes to {count:,} filters", partial(self._add, self._crowd, [count]))
            yield self._phase("it vanishes", lambda: self._vanish(self._crowd))
        yield self._phase("all clients vanish", lambda: self._vanish(self._clients), is_last=True)

    def _phase(
        self, name: str, act: Callable[[], None], announced: range | None = None, *, is_last: bool = False
    ) -> PhaseResult:
        """Run a phase; return its result. announced: allowed number of filters announced by b to a at its end."""
        self._report(name)
        self._take()
        cpu, began = cpu_meter([self._network.pids[name] for name in "ab"]), time.monotonic()
        act()
        self._announced = _wait_until_held(self._watchers, self._held, _TIMEOUT)
        seconds = time.monotonic() - began
        waits, used, now = self._take(is_last=is_last), cpu(), time.monotonic()
        if announced is not None and self._announced not in announced:
            self._checker.add(CompareEvent(now, "tables", "filters announced", self._announced, str(announced)))
        self._checker.add(CompareEvent(now, "backlog", "messages are late", self._backlog > _MAX_BACKLOG, False))
        if is_last:
            self._drain()
        self._checker.add(self._output.event(now))
        problems = [*self._checker.findings.texts()]
        self._checker.findings.violations.clear()
        return PhaseResult(name, seconds, used, waits, "; ".join(problems) or None)

    def _take(self, *, is_last: bool = False) -> LongestWaits:
        """Check the probes since the last call, and return the waits; is_last: stop probing, and only receive."""
        probed: Probed = self._prober.call(not is_last)
        self._backlog += len(probed.sent) - len(probed.received)
        self._checker.add(*probed.events())
        for failure in probed.failures:
            self._checker.findings.violate("connect", failure)
        return probed.waits

    def _drain(self) -> None:
        """Wait until all messages have arrived."""
        end = time.monotonic() + _DRAIN
        while self._backlog > 0 and time.monotonic() < end:
            self._take(is_last=True)
            time.sleep(_POLL)
        self._checker.end()

    @property
    def _held(self) -> int:
        """The number of filters that router b must hold: of the prober and of all clients."""
        return len(PROBES) + sum(client.filters for client in (*self._clients, *self._crowd))

    def _client(self, router: str, name: str) -> RouterClient:
        return RouterClient(RawLink(self._network.addresses[router].port), name)

    def _new(self, name: str, filters: Sequence[str], per_subscription: int = 1) -> RouterClient:
        client = self._client("b", name)
        client.subscribe(filters, per_subscription)
        return client

    def _add(self, to: list[RouterClient], counts: Iterable[int], per_subscription: int = _PER_SUBSCRIPTION) -> None:
        """Add clients with these numbers of random filters."""
        for count in counts:
            to.append(self._new(f"client-{self._held}", [*islice(self._texts, count)], per_subscription))

    def _vanish(self, clients: list[RouterClient]) -> None:
        """Close connections without unsubscribing."""
        for client in clients:
            client.link.close()
        clients.clear()

    def _cover(self) -> None:
        filters = [f'dest = "QQQ" and price = {index}' for index in range(_COVERED)] + ['dest = "QQQ"']
        self._clients.append(self._new("covering", filters))

    def _uncover_half(self) -> None:
        client = self._clients.pop()
        client.unsubscribe([1])
        client.link.close()

    def _begin_third(self) -> None:
        self._network.start(_THIRD)
        self._network.wait(_TIMEOUT)
        self._watchers[_THIRD] = self._client(_THIRD, "watcher")

    def _end_third(self) -> None:
        self._network.stop(_THIRD)
        del self._watchers[_THIRD]
        self._network.wait(_TIMEOUT)


def _wait_until_held(watchers: Mapping[str, RouterClient], filters: int, timeout: float) -> int:
    """Wait until router b holds `filters` filters of clients, all announced filters have arrived, and nothing changes.

    Return the number of filters that router b has announced to router a; raise a CbnetError after the timeout.
    """
    end, before = time.monotonic() + timeout, Counter[tuple[str, str]]()
    while True:
        statuses = {name: watcher.status() for name, watcher in watchers.items()}
        announced, held = Counter[tuple[str, str]](), Counter[tuple[str, str]]()  # by sender and receiver
        interfaces = [(name, each) for name, status in statuses.items() for each in status.interfaces]
        for name, each in interfaces:
            announced[name, each.neighbour] += each.announced
            held[each.neighbour, name] += each.held
        own = statuses["b"].own_filters
        is_acknowledged = all(each.is_acknowledged for _, each in interfaces)
        if own == filters and announced == held == before and is_acknowledged:
            return announced["b", "a"]
        if time.monotonic() >= end:
            found = f"announced {announced} and held {held}"
            raise CbnetError(f"after {timeout:g} s {own:,} of {filters:,} filters, {found}")
        before = announced
        time.sleep(_POLL)
