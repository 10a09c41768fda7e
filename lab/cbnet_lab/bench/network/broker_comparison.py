"""Comparison of a content-based router with a broker that filters by headers.

In one run, taking turns, with the same number of deliveries, client processes, payload and acknowledgements (none):

    a broker          a headers exchange; every filter is a binding of headers that must be equal
    cbnet equality    one router; the same filters
    cbnet full        one router; as many filters, of several constraints with all operators

Every message matches one filter. The best of several rounds counts, because noise affects all rivals alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from cbnet.network import ProcessNetwork
from cbnet.network.client.load_clients import Order
from cbnet.topology import topology
from cbnet_lab.bench.network.broker import Broker, find_broker
from cbnet_lab.bench.network.broker_load import broker_load
from cbnet_lab.bench.network.load import network_load
from cbnet_lab.bench.network.throughput import PATIENT, NetworkMeter
from cbnet_lab.bench.network.traffic import ExpectedDeliveries, Traffic, expected_deliveries, keyed_traffic

if TYPE_CHECKING:
    from cbnet_lab.bench.bench_input import Report
    from cbnet_lab.bench.network.run_result import RunResult
    from cbnet_lab.bench.network.throughput import ThroughputPlan

BROKER, EQUALITY, FULL = "RabbitMQ", "cbnet, equality", "cbnet, full"
ROUNDS = 3
_CONTENTS = 10_000
_WARM = 200
_MIN_MESSAGES = 2_000  # messages, where a broker needs milliseconds for each
_START = 60.0


@dataclass(frozen=True)
class RivalResult:
    """Measurements of one rival with one number of filters."""

    rival: str
    bindings: int
    start_s: float  # until the clients are ready and all filters are installed
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
class BrokerComparison:
    """The results of all rivals with each number of filters."""

    results: list[RivalResult]
    version: str | None  # of the broker; None if it is not installed


def messages_for(bindings: int, messages: int) -> int:
    """Return the number of messages that time allows: a broker tests every binding for each message."""
    return min(messages, max(_MIN_MESSAGES, messages // max(1, bindings // 250)))


def compare(
    plan: ThroughputPlan, bindings: Sequence[int], report: Report, script: str | None = None
) -> BrokerComparison:
    """Compare one router with a broker, if that is installed."""
    script = script or find_broker()
    results: list[RivalResult] = []
    with ExitStack() as stack:
        broker = None
        if script is not None:
            report("starting the broker")
            broker = stack.enter_context(Broker(script))
        for count in bindings:
            results += _compare_rivals(plan, count, broker, report)
        return BrokerComparison(results, None if broker is None else broker.version())


def _compare_rivals(plan: ThroughputPlan, count: int, broker: Broker | None, report: Report) -> list[RivalResult]:
    """Measure all rivals with `count` filters, taking turns."""
    report(f"{count:,} filters: computing the expected deliveries")
    traffic = {kind: keyed_traffic(kind, count, plan.processes, _CONTENTS) for kind in ("equality", "full")}
    expected = {kind: expected_deliveries(each) for kind, each in traffic.items()}
    with ExitStack() as stack:
        report(f"{count:,} filters: subscribing")
        meters: dict[str, NetworkMeter] = {}
        took: dict[str, float] = {}
        for name, kind in ((BROKER, "equality"), (EQUALITY, "equality"), (FULL, "full")):
            start = perf_counter()
            if name != BROKER:
                meters[name] = _router(stack, plan, traffic[kind], expected[kind])
            elif broker is not None:
                meters[name] = _exchange(stack, plan, broker, traffic[kind], expected[kind])
            took[name] = perf_counter() - start
        return _rounds(plan, count, meters, took, report)


def _router(stack: ExitStack, plan: ThroughputPlan, traffic: Traffic, expected: ExpectedDeliveries) -> NetworkMeter:
    """Start a router and its clients."""
    network = stack.enter_context(ProcessNetwork.of(topology("tree:1"), dead=PATIENT, silence=2 * PATIENT))
    network.wait(_START)
    addresses = [str(address) for address in network.addresses.values()]
    load = stack.enter_context(network_load(addresses, addresses, traffic, expected, plan.payload, plan.processes))
    return NetworkMeter.of_network(network, load, expected)


def _exchange(
    stack: ExitStack, plan: ThroughputPlan, broker: Broker, traffic: Traffic, expected: ExpectedDeliveries
) -> NetworkMeter:
    """Declare an exchange and start its clients."""
    load = broker_load(broker.port, traffic, expected, plan.payload, plan.processes)
    return NetworkMeter(stack.enter_context(load), expected, lambda: broker.pids)


def _rounds(
    plan: ThroughputPlan, count: int, meters: dict[str, NetworkMeter], took: dict[str, float], report: Report
) -> list[RivalResult]:
    messages = messages_for(count, plan.messages)
    rounds: dict[str, list[RunResult]] = {name: [] for name in meters}
    for meter in meters.values():
        meter.run(Order(0, _WARM, window=plan.window))
    for turn in range(ROUNDS):
        for name, meter in meters.items():
            report(f"{count:,} filters: {name}, round {turn + 1} of {ROUNDS}")
            rounds[name].append(meter.run(Order(_WARM + turn * messages, messages, window=plan.window)))
    return [RivalResult(name, count, took[name], each) for name, each in rounds.items()]
