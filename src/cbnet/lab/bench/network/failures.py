"""Network failures: what is lost when a link or a router fails under load, and for how long?

    publish at a rate ──────────┬───────────────────────┬──────────►
                              fails                  is mended

A message is missed if somebody who must get it does not. The network has converged again when the last such message
was sent. What was sent before the failure, and may have been under way, counts as missed after it. Clients are nowhere
at a router that fails: what it means for them is another question.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cbnet.errors import InputError
from cbnet.lab.bench.network.delivery_check import Verdict, expected_deliveries, missing_by_message, verdict
from cbnet.lab.bench.network.load import network_load
from cbnet.lab.bench.network.relay import Relay
from cbnet.lab.bench.network.throughput import counters_of
from cbnet.lab.bench.network.traffic import wanted
from cbnet.network import ProcessNetwork
from cbnet.network.client.load_clients import Order
from cbnet.network.link.counters import drops
from cbnet.topology import Graph, bridges, topology

if TYPE_CHECKING:
    from cbnet.lab.bench.bench_input import Report
    from cbnet.lab.bench.network.delivery_check import Counts
    from cbnet.lab.bench.network.load_processes import Came
    from cbnet.lab.bench.network.throughput import NetworkPlan
    from cbnet.lab.bench.network.traffic import Wanted

KINDS = ("link", "silent-link", "router")
_RATE = 500.0  # messages in a second, where none is given
_SECONDS = 16.0  # of messages
_FAILS, _MENDED = 4.0, 11.0  # seconds after the first message
_PUBLISHERS = 4
_EVER = 2**63 - 1  # ns
_START = 60.0
_PATIENCE = 2.0  # seconds without a delivery, after which no more are waited for


@dataclass(frozen=True)
class Missed:
    """What was missed after something happened."""

    messages: int
    deliveries: int
    seconds: float  # from what happened until the last of these messages was sent; 0 if there is none


@dataclass(frozen=True)
class FailureOutcome:
    """What was measured of one failure."""

    plan: NetworkPlan
    kind: str
    victim: str
    rate: float
    messages: int
    verdict: Verdict
    before: Missed
    after_failure: Missed
    after_mending: Missed
    dropped: dict[str, int]  # by reason, at the routers that were there at the end

    @property
    def is_as_guaranteed(self) -> bool:
        """Whether nothing came twice or to who did not ask, and nothing was missed while nothing changed."""
        return not (self.verdict.twice or self.verdict.spurious or self.before.messages)

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        parts = {"before": self.before, "failure": self.after_failure, "mending": self.after_mending}
        missed = {
            f"{name}_{what}": round(getattr(each, what), 4)
            for name, each in parts.items()
            for what in ("messages", "deliveries", "seconds")
        }
        return {
            "topology": self.plan.topology,
            "scheme": self.plan.scheme,
            "fail": self.kind,
            "victim": self.victim,
            "rate": self.rate,
            "messages": self.messages,
            "expected": self.verdict.expected,
            "missing": self.verdict.missing,
            "twice": self.verdict.twice,
            "spurious": self.verdict.spurious,
            **missed,
            "dropped": self.dropped,
        }


def bench_failure(plan: NetworkPlan, kind: str, report: Report) -> FailureOutcome:
    """Let something fail under load, and be mended."""
    if kind not in KINDS:
        raise InputError(f"unknown failure {kind!r}", hint=f"use one of {', '.join(KINDS)}")
    graph = topology(plan.topology, plan.seed)
    victim = _router(graph) if kind == "router" else _link(graph)
    report("asking the reference who must get what")
    traffic = plan.traffic()
    right = wanted(traffic)
    rate = plan.rate or _RATE
    order = Order(0, int(rate * _SECONDS), rate)
    with _network(plan, graph, kind, victim) as (network, fail, mend):
        report(f"{plan.topology}: starting clients")
        places = [str(address) for name, address in network.addresses.items() if name not in victim[: kind == "router"]]
        publish_at = places[:: max(1, len(places) // _PUBLISHERS)]
        with network_load(places, publish_at, traffic, right, plan.payload, plan.processes) as load:
            report(f"{plan.topology}: {rate:,.0f} messages a second, and then a failure")
            happened: list[int] = []
            before = counters_of(network)

            def meanwhile() -> None:
                for seconds, what in ((_FAILS, fail), (_MENDED - _FAILS, mend)):
                    time.sleep(seconds)
                    happened.append(time.monotonic_ns())
                    what()

            came = load.run(order, expected_deliveries(order, right), meanwhile, _PATIENCE)
            counters = counters_of(network)
            counters.subtract(before)
    return _outcome(plan, kind, "–".join(victim), order, right, came, happened, counters)


def _outcome(
    plan: NetworkPlan,
    kind: str,
    victim: str,
    order: Order,
    right: Wanted,
    came: Came,
    happened: list[int],
    counters: Counter[str],
) -> FailureOutcome:
    assert order.rate is not None
    missing = missing_by_message(order, right, came)
    sent = _sent(order, came)
    failed, mended = happened
    under_way = failed - _longest(came, failed)
    dropped = {reason: count for reason, count in drops(counters).items() if count > 0}
    return FailureOutcome(
        plan, kind, victim, order.rate, order.count, verdict(order, right, came),
        _missed(missing, sent, 0, under_way, failed), _missed(missing, sent, under_way, mended, failed),
        _missed(missing, sent, mended, _EVER, mended), dropped,
    )  # fmt: skip


def _sent(order: Order, came: Came) -> Counts:
    """Return when each message was sent, in ns: as it says itself, or between those that do."""
    known = np.unique(np.stack([came.numbers, came.at - (came.milliseconds * 1e6).astype(np.int64)]), axis=1)
    numbers, first = np.unique(known[0], return_index=True)
    all_numbers = np.arange(order.first, order.first + order.count)
    sent: Counts = np.interp(all_numbers, numbers, known[1][first]).astype(np.int64)
    return sent


def _longest(came: Came, failed: int) -> int:
    """Return the longest time in ns that a delivery took before something failed: so much may have been under way."""
    before = came.milliseconds[came.at < failed]
    return int(before.max() * 1e6) if len(before) else 0


def _missed(missing: Counts, sent: Counts, start: int, end: int, since: int) -> Missed:
    """Return what was missed of the messages that were sent from start to end."""
    rows = np.flatnonzero((missing > 0) & (sent >= start) & (sent < end))
    last = max(0.0, float(sent[rows[-1]] - since) / 1e9) if len(rows) else 0.0
    return Missed(len(rows), int(missing[rows].sum()), last)


# --- what fails


@contextmanager
def _network(
    plan: NetworkPlan, graph: Graph, kind: str, victim: tuple[str, ...]
) -> Iterator[tuple[ProcessNetwork, Callable[[], object], Callable[[], object]]]:
    """Start the routers; give them, and what lets the victim fail and mends it."""
    network = ProcessNetwork.of(graph, scheme=plan.scheme)
    with ExitStack() as stack:
        stack.callback(network.close)
        if kind == "router":
            (name,) = victim
            network.start(*network.settings)
            network.wait(_START)
            yield network, lambda: network.kill(name), lambda: network.start(name)
            return
        near, far = victim  # the first dials the other
        relay = Relay(network.addresses[far])
        stack.callback(relay.close)
        network.start(*(name for name in network.settings if name != near))
        own, network.addresses[far] = network.addresses[far], relay.address
        network.start(near)
        network.addresses[far] = own
        network.wait(_START)
        yield network, relay.cut if kind == "link" else relay.silence, relay.mend


def _link(graph: Graph) -> tuple[str, str]:
    """Return the link between the nodes with the most links, of those without which the network stays whole."""
    alone = {frozenset(pair) for pair in bridges(graph)}
    degrees = graph.degrees
    links = [(degrees[u] + degrees[v], u, v) for u, v, _ in graph.edges() if frozenset((u, v)) not in alone]
    if not links:
        raise InputError("every link of this network is the only way", hint="use a ring, or powerlaw:20")
    _, u, v = max(links)
    a, b = sorted((str(graph.name(u)), str(graph.name(v))))
    return a, b


def _router(graph: Graph) -> tuple[str]:
    """Return the node with the most links, of those without which the others stay connected."""
    for node in np.argsort(-graph.degrees, kind="stable").tolist():
        if _is_whole_without(graph, node):
            return (str(graph.name(node)),)
    raise InputError("a network of one router has none that can fail", hint="use a ring, or powerlaw:20")


def _is_whole_without(graph: Graph, gone: int) -> bool:
    left = [node for node in range(len(graph.names)) if node != gone]
    reached = set(left[:1])
    for node in (waiting := left[:1]):  # grows meanwhile
        for other in graph.neighbours(node).tolist():
            if other != gone and other not in reached:
                reached.add(other)
                waiting.append(other)
    return len(left) > 1 and len(reached) == len(left)
