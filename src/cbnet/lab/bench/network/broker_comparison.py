"""Broker comparison: is a content-based router slower than a broker that filters by headers, or faster, and when?

In one run, in turns, with the same number of deliveries, client processes, payload and acknowledgements (none):

    a broker          a headers exchange; every filter is a binding of headers that must be equal
    cbnet equality    one router; the same filters
    cbnet full        one router; as many filters, of several constraints with all operators

Every message matches one filter. The best of some rounds counts: what disturbs one disturbs all.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from cbnet.lab.bench.network.broker import Broker, find_broker
from cbnet.lab.bench.network.broker_load import broker_load
from cbnet.lab.bench.network.load import network_load
from cbnet.lab.bench.network.throughput import PATIENT, Meter
from cbnet.lab.bench.network.traffic import Traffic, Wanted, keyed, wanted
from cbnet.network import ProcessNetwork
from cbnet.network.client.load_clients import Order
from cbnet.topology import topology

if TYPE_CHECKING:
    from cbnet.lab.bench.bench_input import Report
    from cbnet.lab.bench.network.run_result import RunResult
    from cbnet.lab.bench.network.throughput import NetworkPlan

BROKER, EQUALITY, FULL = "RabbitMQ", "cbnet, equality", "cbnet, full"
ROUNDS = 3
_CONTENTS = 10_000
_WARM = 200
_FEWEST = 2_000  # messages, where a broker needs milliseconds for each
_START = 60.0


@dataclass(frozen=True)
class RivalResult:
    """What was measured of one rival with so many filters."""

    rival: str
    bindings: int
    start_s: float  # until the clients are ready, and all filters known
    rounds: Sequence[RunResult]

    @property
    def best(self) -> RunResult:
        """The round that took the least time."""
        return min(self.rounds, key=lambda each: each.seconds)

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        return {
            "rival": self.rival,
            "bindings": self.bindings,
            "start_s": round(self.start_s, 2),
            "rounds_messages_per_s": [round(each.messages_per_s, 1) for each in self.rounds],
            **self.best.members(),
        }


@dataclass(frozen=True)
class Comparison:
    """All rivals, with each number of filters."""

    results: list[RivalResult]
    version: str | None  # of the broker; None if it is not installed


def messages_for(bindings: int, messages: int) -> int:
    """Return how many messages there is time for: a broker looks at every binding for each."""
    return min(messages, max(_FEWEST, messages // max(1, bindings // 250)))


def compare(plan: NetworkPlan, bindings: Sequence[int], report: Report, script: str | None = None) -> Comparison:
    """Compare one router with a broker, if that is installed."""
    script = script or find_broker()
    results: list[RivalResult] = []
    with ExitStack() as stack:
        broker = None
        if script is not None:
            report("starting the broker")
            broker = stack.enter_context(Broker(script))
        for count in bindings:
            results += _with(plan, count, broker, report)
        return Comparison(results, None if broker is None else broker.version())


def _with(plan: NetworkPlan, count: int, broker: Broker | None, report: Report) -> list[RivalResult]:
    """Measure all rivals with so many filters, in turns."""
    report(f"{count:,} filters: asking the reference who must get what")
    traffic = {kind: keyed(kind, count, plan.processes, _CONTENTS) for kind in ("equality", "full")}
    right = {kind: wanted(each) for kind, each in traffic.items()}
    with ExitStack() as stack:
        report(f"{count:,} filters: subscribing")
        ways: dict[str, Meter] = {}
        took: dict[str, float] = {}
        for name, kind in ((BROKER, "equality"), (EQUALITY, "equality"), (FULL, "full")):
            start = perf_counter()
            if name != BROKER:
                ways[name] = _router(stack, plan, traffic[kind], right[kind])
            elif broker is not None:
                ways[name] = _exchange(stack, plan, broker, traffic[kind], right[kind])
            took[name] = perf_counter() - start
        return _rounds(plan, count, ways, took, report)


def _router(stack: ExitStack, plan: NetworkPlan, traffic: Traffic, right: Wanted) -> Meter:
    """Start a router and its clients."""
    network = stack.enter_context(ProcessNetwork.of(topology("tree:1"), scheme=plan.scheme, dead=PATIENT))
    network.wait(_START)
    where = [str(address) for address in network.addresses.values()]
    load = stack.enter_context(network_load(where, where, traffic, right, plan.payload, plan.processes))
    return Meter.of_network(network, load, right)


def _exchange(stack: ExitStack, plan: NetworkPlan, broker: Broker, traffic: Traffic, right: Wanted) -> Meter:
    """Make an exchange, and start its clients."""
    load = broker_load(broker.port, traffic, right, plan.payload, plan.processes)
    return Meter(stack.enter_context(load), right, lambda: broker.pids)


def _rounds(
    plan: NetworkPlan, count: int, ways: dict[str, Meter], took: dict[str, float], report: Report
) -> list[RivalResult]:
    messages = messages_for(count, plan.messages)
    rounds: dict[str, list[RunResult]] = {name: [] for name in ways}
    for meter in ways.values():
        meter.run(Order(0, _WARM, window=plan.window))
    for turn in range(ROUNDS):
        for name, meter in ways.items():
            report(f"{count:,} filters: {name}, round {turn + 1} of {ROUNDS}")
            rounds[name].append(meter.run(Order(_WARM + turn * messages, messages, window=plan.window)))
    return [RivalResult(name, count, took[name], each) for name, each in rounds.items()]
