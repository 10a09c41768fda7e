"""Comparison of a content-based router with a broker that filters by headers.

In one run, taking turns, with the same number of deliveries, client processes, payload and acknowledgements (none):

    a broker          a headers exchange; every filter is a binding of headers that must be equal
    cbnet equality    one router; the same filters
    cbnet full        one router; as many filters, of several constraints with all operators

Every message matches one filter. The best of several rounds counts, because noise affects all rivals alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cbnet.network import ProcessNetwork
from cbnet.network.client.load_clients import Order
from cbnet.topology import topology
from cbnet_lab.bench.cpu import session
from cbnet_lab.bench.network.broker import INSTALL_COMMAND, NAME, broker_process, broker_version, find_broker
from cbnet_lab.bench.network.broker_load import broker_load
from cbnet_lab.bench.network.load_processes import network_load
from cbnet_lab.bench.network.run_result import SPEED, RunResult
from cbnet_lab.bench.network.throughput import PATIENT, NetworkMeter
from cbnet_lab.bench.network.traffic import ExpectedDeliveries, Traffic, expected_deliveries, keyed_traffic
from cbnet_lab.bench.result_table import FLAT, HIDDEN, ResultTable, cell, ratio
from cbnet_lab.bench.timing import stopwatch

if TYPE_CHECKING:
    from cbnet_lab.bench.bench_input import Report
    from cbnet_lab.bench.plans import NetworkBenchPlan
    from cbnet_lab.bench.server_process import ServerProcess

EQUALITY, FULL = "cbnet, equality", "cbnet, full"
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
    rounds_messages_per_s: Sequence[float]
    best: RunResult = field(metadata=FLAT)  # the round that took the least time
    broker: str | None  # its version; None if it is not installed
    problem: str | None = field(default=None, metadata=HIDDEN)


def messages_for(bindings: int, messages: int) -> int:
    """Return the number of messages that time allows: a broker tests every binding for each message."""
    return min(messages, max(_MIN_MESSAGES, messages // max(1, bindings // 250)))


def notes(_plan: NetworkBenchPlan) -> Iterator[str]:
    """Yield a note on a machine without the broker."""
    if find_broker() is None:
        yield f"{NAME} is not installed, so only cbnet is measured: {INSTALL_COMMAND}"


def run(plan: NetworkBenchPlan, report: Report) -> Iterator[RivalResult]:
    """Compare one router with a broker, if that is installed."""
    script = find_broker()
    with ExitStack() as stack:
        broker = None
        if script is not None:
            report("starting the broker")
            broker = stack.enter_context(broker_process(script))
        for count in plan.bindings:
            yield from _compare_rivals(plan, count, broker, report)


def _compare_rivals(
    plan: NetworkBenchPlan, count: int, broker: ServerProcess | None, report: Report
) -> Iterator[RivalResult]:
    """Measure all rivals with `count` filters, taking turns."""
    report(f"{count:,} filters: computing the expected deliveries")
    traffic = {kind: keyed_traffic(kind, count, plan.processes, _CONTENTS) for kind in ("equality", "full")}
    expected = {kind: expected_deliveries(each) for kind, each in traffic.items()}
    with ExitStack() as stack:
        report(f"{count:,} filters: subscribing")
        meters: dict[str, NetworkMeter] = {}
        start_s: dict[str, float] = {}
        for name, kind in ((NAME, "equality"), (EQUALITY, "equality"), (FULL, "full")):
            with stopwatch() as took:
                if name != NAME:
                    meters[name] = _router(stack, plan, traffic[kind], expected[kind])
                elif broker is not None:
                    meters[name] = _exchange(stack, plan, broker, traffic[kind], expected[kind])
            start_s[name] = took()
        version = None if broker is None else broker_version(broker)
        for name, rounds in _rounds(plan, count, meters, report).items():
            speeds = [round(each.messages_per_s, 1) for each in rounds]
            best = min(rounds, key=lambda each: each.seconds)
            problem = next((each.problem for each in rounds if each.problem is not None), None)
            wrong = problem and f"{name}, {count:,} filters: {problem}"
            yield RivalResult(name, count, start_s[name], speeds, best, version, wrong)


def _router(stack: ExitStack, plan: NetworkBenchPlan, traffic: Traffic, expected: ExpectedDeliveries) -> NetworkMeter:
    """Start a router and its clients."""
    network = stack.enter_context(ProcessNetwork.of(topology("tree:1"), dead=PATIENT, silence=2 * PATIENT))
    network.wait(_START)
    addresses = [str(address) for address in network.addresses.values()]
    load = stack.enter_context(network_load(addresses, addresses, traffic, expected, plan.payload, plan.processes))
    return NetworkMeter.of_network(network, load, expected)


def _exchange(
    stack: ExitStack, plan: NetworkBenchPlan, broker: ServerProcess, traffic: Traffic, expected: ExpectedDeliveries
) -> NetworkMeter:
    """Declare an exchange and start its clients."""
    load = broker_load(broker.port, traffic, expected, plan.payload, plan.processes)
    return NetworkMeter(stack.enter_context(load), expected, lambda: session(broker.pid))


def _rounds(
    plan: NetworkBenchPlan, count: int, meters: dict[str, NetworkMeter], report: Report
) -> dict[str, list[RunResult]]:
    messages = messages_for(count, plan.messages)
    rounds: dict[str, list[RunResult]] = {name: [] for name in meters}
    for meter in meters.values():
        meter.run(Order(0, _WARM, window=plan.window))
    for turn in range(ROUNDS):
        for name, meter in meters.items():
            report(f"{count:,} filters: {name}, round {turn + 1} of {ROUNDS}")
            rounds[name].append(meter.run(Order(_WARM + turn * messages, messages, window=plan.window)))
    return rounds


def tables(plan: NetworkBenchPlan, rows: Sequence[RivalResult]) -> Iterator[str | ResultTable[RivalResult]]:
    """Yield the configuration, and the speed of each rival."""
    yield "one router and a broker, alternating, all on this machine\n"
    yield f"all       {plan.payload} bytes of payload, 1 subscriber per message; no acknowledgements, nothing on disk;"
    yield f"          1 publishing process, {plan.processes} receiving; at most {plan.window:,} deliveries in flight"
    if rows[0].broker is not None:
        yield f"{NAME:<9} {rows[0].broker}, one node, no plugins; an exchange of type headers, x-match all;"
        yield "          a queue per subscriber, a binding per filter; transient messages; the client pika"
    yield 'cbnet     one router, the pivot engine; cbnet\'s asyncio client; equality: symbol = "s000042.eq";'
    yield "          full: prefixes, substrings, ranges, inequalities, 3 or 4 per filter"
    broker = {row.bindings: row.best.messages_per_s for row in rows if row.rival == NAME}
    yield ResultTable(f"Best of {ROUNDS} rounds", rows, {
        "rival": "rival",
        "filters": "bindings",
        **SPEED,
        f"over {NAME}": lambda row: ratio(row.best.messages_per_s, broker.get(row.bindings)),
        "messages/s of the rounds": lambda row: ", ".join(map(cell, row.rounds_messages_per_s)),
    })  # fmt: skip
    is_right = all(row.problem is None for row in rows)
    yield f"answers   {'every expected delivery arrived exactly once.' if is_right else 'WRONG'}"
