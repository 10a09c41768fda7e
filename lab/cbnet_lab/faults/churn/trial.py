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
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

from cbnet.errors import CbnetError
from cbnet_lab.bench.bench_input import Report
from cbnet_lab.bench.router.load import Target
from cbnet_lab.bench.router.message_pool import random_filters
from cbnet_lab.bench.router.servers import ROUTER_NAMES, router_process
from cbnet_lab.bench.server_process import ServerProcess
from cbnet_lab.faults.churn.churn_client import ChurnClient, wait_until_held
from cbnet_lab.faults.churn.longest_waits import LongestWaits
from cbnet_lab.faults.churn.prober import ProberProcess

_CROWD, _CROWD_FILTERS = 20, 1_000  # clients that vanish together, and the filters of each
_COVERED = 4_000  # filters below one that is unsubscribed
_HOLDERS = 10
_PER_SUBSCRIPTION = 50  # filters of clients with very many
_TIMEOUT = 3600.0  # seconds of a phase
_PROBES = 1  # filters of the prober


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
        stack.callback(self._prober.close)
        self._texts = random_filters(plan.filters, [], plan.seed)
        stack.callback(self._end_third)
        self._held = _PROBES
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
        covered = self._phase("subscribe to a filter that covers half of all", self._cover_half)
        yield self._checked(covered, 0.4 * before < self._announced < 0.6 * before)
        yield self._checked(self._phase("unsubscribe it", self._uncover_half), self._announced == before)
        yield self._phase("a router connects, to which all filters are announced", self._begin_third)
        yield self._phase("it stops", self._end_third)
        for count in self._plan.vanishing:
            yield self._phase(f"a client subscribes to {count:,} filters", partial(self._gather, 1, count))
            yield self._phase("it vanishes", lambda: self._vanish(self._crowd))
        yield self._phase("all clients vanish", lambda: self._vanish(self._clients))

    def _phase(self, name: str, act: Callable[[], None]) -> PhaseResult:
        self._report(name)
        self._prober.take()
        before, began = [server.cpu() for server in self._servers], time.monotonic()
        act()
        self._announced, problem = wait_until_held(self._watchers, self._held, _TIMEOUT)
        seconds = time.monotonic() - began
        waits, missing = self._prober.take()
        cpu = [(server.cpu() - then) / 1e9 for server, then in zip(self._servers, before, strict=True)]
        if problem is None and missing > 1 / 0.005:
            problem = f"{missing:,} messages are missing"
        return PhaseResult(name, seconds, cpu, waits, problem)

    def _checked(self, result: PhaseResult, is_right: bool) -> PhaseResult:
        """Return a result, with a problem if router b announces too much or too little."""
        if is_right or result.problem is not None:
            return result
        return replace(result, problem=f"{self._announced:,} filters are announced")

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
