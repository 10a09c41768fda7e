"""The churn trial: how long others wait while clients with very many filters subscribe, unsubscribe and vanish.

    publisher, ping ─► router a ── router b ◄─ subscriber, ping, new clients          the prober
                                       ▲
                                       ├───── clients that hold filters, and those that come and go
                                       └───── router c, in some phases

Each phase ends when both routers hold the filters that they must, so what is done in the background counts in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from cbnet.errors import CbnetError
from cbnet_lab.bench.bench_input import Report
from cbnet_lab.bench.router.load import Target
from cbnet_lab.bench.router.message_pool import random_filters
from cbnet_lab.bench.router.servers import ROUTER_NAMES, router_process
from cbnet_lab.bench.server_process import ServerProcess
from cbnet_lab.faults.check.checker import Checker
from cbnet_lab.faults.churn.churn_client import ChurnClient, wait_until_held
from cbnet_lab.faults.churn.longest_waits import LongestWaits
from cbnet_lab.faults.churn.prober import AIRLINE, Probed, ProberProcess
from cbnet_lab.faults.record import BeginEvent, CompareEvent, EndEvent, SettleEvent, SubscribeEvent

_CROWD, _CROWD_FILTERS = 20, 1_000  # clients that vanish together, and the filters of each
_COVERED = 4_000  # filters below one that is unsubscribed
_HOLDERS = 10
_PER_SUBSCRIPTION = 50  # filters of clients with very many
_TIMEOUT = 3600.0  # seconds of a phase
_PROBES = 1  # filters of the prober
_MAX_BACKLOG = 200  # messages on their way at the end of a phase: those of a second
_DRAIN = 10.0  # seconds for the last messages


@dataclass(frozen=True)
class ChurnPlan:
    """Sizes of the trial."""

    filters: int  # that router b holds at most
    vanishing: Sequence[int]  # filters of clients that vanish, one after the other
    seed: int

    @property
    def passing(self) -> int:
        """Filters of the clients that come and go."""
        return sum(self.vanishing) + _CROWD * _CROWD_FILTERS + _COVERED


def checked_plan(plan: ChurnPlan) -> ChurnPlan:
    """Return a plan, if the filters of clients that come and go are among those that are held."""
    if plan.passing > plan.filters:
        raise CbnetError(f"the clients that come and go have {plan.passing:,} filters, more than {plan.filters:,}")
    return plan


@dataclass(frozen=True)
class PhaseResult:
    """What others waited for in a phase."""

    name: str
    seconds: float
    cpu: Sequence[float]  # of the routers, in seconds
    waits: LongestWaits
    problem: str | None = None

    def members(self) -> dict[str, Any]:
        """Return the result as JSON has it."""
        return {
            "phase": self.name,
            "seconds": round(self.seconds, 2),
            "cpu_s": [round(each, 2) for each in self.cpu],
            **self.waits.milliseconds(),
            "problem": self.problem,
        }


def run_churn(plan: ChurnPlan, report: Report) -> Generator[PhaseResult]:
    """Yield the result of each phase; the routers run until the iterator ends or is closed."""
    with ExitStack() as stack:
        first = stack.enter_context(router_process())
        second = stack.enter_context(router_process(first.port))
        yield from _Trial(plan, stack, (first, second), report).phases()


class _Trial:
    """The clients of a trial that is under way."""

    def __init__(
        self, plan: ChurnPlan, stack: ExitStack, servers: tuple[ServerProcess, ServerProcess], report: Report
    ) -> None:
        self._plan = plan
        self._servers = servers
        self._report = report
        targets = [Target("cbnet", server.port) for server in servers]
        self._target: Target = targets[-1]
        self._watchers = {name: ChurnClient(each, "watcher") for name, each in zip(ROUTER_NAMES, targets, strict=False)}
        self._third: ServerProcess | None = None  # router c
        self._announced = 0  # filters, by router b to router a, at the end of the last phase
        self._prober = ProberProcess(targets)
        self._checker = Checker(BeginEvent(0.0, 2, 0.0, 0.0, delay=float("inf")))
        self._checker.add(SubscribeEvent(0.0, "prober", "probes", "b", f'airline = "{AIRLINE}"', kind="plain"))
        self._checker.add(SettleEvent(0.0, 0.0))
        stack.callback(self._prober.close)
        self._texts = random_filters(plan.filters, [], plan.seed)
        stack.callback(self._end_third)
        self._held = _PROBES
        self._backlog = 0  # messages on their way
        self._add(self._prober.first)
        self._clients: list[ChurnClient] = []
        self._crowd: list[ChurnClient] = []

    def phases(self) -> Iterator[PhaseResult]:
        """Yield the result of each phase."""
        held = self._plan.filters - self._plan.passing
        yield self._phase(f"{_HOLDERS} clients subscribe to {held:,} filters", lambda: self._hold(held))
        yield self._phase(
            f"{_CROWD} clients subscribe to {_CROWD_FILTERS:,} filters each",
            lambda: self._gather(_CROWD, _CROWD_FILTERS, 1),
        )
        yield self._phase("unsubscribe one by one half of a client's filters", self._unsubscribe_half)
        yield self._phase(f"{_CROWD} clients vanish", lambda: self._vanish(self._crowd))
        yield self._phase(f"subscribe to a filter that covers {_COVERED:,}", self._cover)
        yield self._phase("unsubscribe it", self._uncover)
        before = self._announced
        random = before - _COVERED  # filters, of which about half are covered
        half = range(int(0.4 * random) + _COVERED, int(0.6 * random) + _COVERED)
        yield self._phase("subscribe to a filter that covers half of all", self._cover_half, half)
        yield self._phase("unsubscribe it", self._uncover_half, range(before, before + 1))
        yield self._phase("a router connects, to which all filters are announced", self._begin_third)
        yield self._phase("it stops", self._end_third)
        for count in self._plan.vanishing:
            yield self._phase(f"a client subscribes to {count:,} filters", partial(self._gather, 1, count))
            yield self._phase("it vanishes", lambda: self._vanish(self._crowd))
        yield self._phase("all clients vanish", lambda: self._vanish(self._clients), is_last=True)

    def _phase(
        self, name: str, act: Callable[[], None], announced: range | None = None, *, is_last: bool = False
    ) -> PhaseResult:
        """Return the result of a phase; announced: how many filters router b may announce to router a at its end."""
        self._report(name)
        self._add(self._prober.take())
        before, began = [server.cpu() for server in self._servers], time.monotonic()
        act()
        self._announced, problem = wait_until_held(self._watchers, self._held, _TIMEOUT)
        seconds = time.monotonic() - began
        probed = self._prober.take(is_last=is_last)
        cpu = [(server.cpu() - then) / 1e9 for server, then in zip(self._servers, before, strict=True)]
        self._add(probed)
        now = time.monotonic()
        self._checker.add(CompareEvent(now, "tables", "filters held", problem, None))
        is_wrong = announced is not None and self._announced not in announced
        self._checker.add(CompareEvent(now, "tables", "filters announced", self._announced if is_wrong else 0, 0))
        backlog = self._backlog if self._backlog > _MAX_BACKLOG else 0
        self._checker.add(CompareEvent(now, "backlog", "messages", backlog, 0))
        return PhaseResult(name, seconds, cpu, probed.waits, self._problem(is_last=is_last))

    def _add(self, probed: Probed) -> None:
        self._backlog += len(probed.sent) - len(probed.received)
        for event in probed.events():
            self._checker.add(event)

    def _problem(self, *, is_last: bool) -> str | None:
        """Return the violations since the last phase; with the last one, wait until all messages have arrived."""
        if is_last:
            end = time.monotonic() + _DRAIN
            while self._backlog > 0 and time.monotonic() < end:
                self._add(self._prober.take(is_last=True))
                time.sleep(_DRAIN / 100)
            self._checker.add(EndEvent(time.monotonic(), {}))
            self._checker.end()
        problems = [*self._checker.findings.texts()]
        self._checker.findings.violations.clear()
        return "; ".join(problems) or None

    def _filters(self, count: int) -> list[str]:
        self._held += count
        return list(islice(self._texts, count))

    def _new(self, count: int, per_subscription: int = _PER_SUBSCRIPTION) -> ChurnClient:
        client = ChurnClient(self._target, f"client-{self._held}")
        client.subscribe(self._filters(count), per_subscription)
        return client

    def _hold(self, count: int) -> None:
        for index in range(_HOLDERS):
            share = count * (index + 1) // _HOLDERS - count * index // _HOLDERS
            if share:
                self._clients.append(self._new(share))

    def _gather(self, clients: int, filters: int, per_subscription: int = _PER_SUBSCRIPTION) -> None:
        self._crowd = [self._new(filters, per_subscription) for _ in range(clients)]

    def _unsubscribe_half(self) -> None:
        client, half = self._crowd[0], _CROWD_FILTERS // 2
        client.unsubscribe(range(1, half + 1))
        client.filters -= half
        self._held -= half

    def _vanish(self, clients: list[ChurnClient]) -> None:
        for client in clients:
            client.vanish()
            self._held -= client.filters
        clients.clear()

    def _cover(self) -> None:
        client = ChurnClient(self._target, "covering")
        client.subscribe([f'dest = "QQQ" and price = {index}' for index in range(_COVERED)] + ['dest = "QQQ"'])
        self._held += client.filters
        self._clients.append(client)

    def _uncover(self) -> None:
        client = self._clients[-1]
        client.unsubscribe([_COVERED + 1])
        client.filters -= 1
        self._held -= 1

    def _cover_half(self) -> None:
        """Cover the filters on half of the airports."""
        client = ChurnClient(self._target, "covering half")
        client.subscribe(['dest < "N"'])
        self._held += 1
        self._clients.append(client)

    def _uncover_half(self) -> None:
        client = self._clients.pop()
        client.unsubscribe([1])
        client.vanish()
        self._held -= 1

    def _begin_third(self) -> None:
        third = self._third = router_process(self._target.port, 2)
        third.__enter__()
        self._watchers[ROUTER_NAMES[2]] = ChurnClient(Target("cbnet", third.port), "watcher")
        while len(self._watchers[ROUTER_NAMES[1]].status().interfaces) < 2:  # it has not dialled yet
            time.sleep(0.05)

    def _end_third(self) -> None:
        if self._third is None:
            return
        self._third.close()
        self._third = None
        del self._watchers[ROUTER_NAMES[2]]
        while len(self._watchers[ROUTER_NAMES[1]].status().interfaces) > 1:
            time.sleep(0.05)
