"""The demo's network: routers that start with the rules of their nodes, and a check of every delivery.

The pipeline has written the rules of every node. Messages are published all over the network, and the deliveries are
compared with brute force: every message against every filter. One client per router subscribes to the initial predicate
of the router's node, and publishes. The payload of a message is its number.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from cbnet.errors import CbnetError
from cbnet.network import Address, Client, ProcessNetwork, Refused, Subscription, connect, statuses
from cbnet.network.client.message_encoding import MessageLike

if TYPE_CHECKING:
    from cbnet.cli.console import StepReport
    from cbnet.language import Message, Predicate
    from cbnet.network.client.client_inbox import Traced
    from cbnet.network.service.network_file import NetworkPlan

_MESSAGES = 400
_UNMATCHED = "no receiver"  # a tag that no filter has
_TRACED_RECEIVERS = range(3, 6)  # of the message that is traced
_WAIT = 0.01  # seconds for the next delivery
_TIMEOUT = 120.0  # seconds for routers to start, and to answer on a busy machine
_SILENCE = 30.0  # seconds without a delivery, after which missing ones count as missed
_SETTLE = 0.5  # seconds for spurious deliveries to arrive

Published = Sequence[tuple[str, "Message"]]  # router and message
DeliveryCounts = Counter[tuple[str, int]]  # (router, message number) -> deliveries


@dataclass(frozen=True)
class ProbeResult:
    """Deliveries compared with the expected ones."""

    expected: int
    delivered: int
    missed: int
    spurious: int
    duplicates: int

    @property
    def is_exact(self) -> bool:
        """Whether every expected delivery arrived once, and no other."""
        return self.delivered == self.expected and not (self.missed or self.spurious or self.duplicates)


@dataclass(frozen=True)
class NetworkRun:
    """The result of the demo's network."""

    plan: NetworkPlan
    filters: int
    seconds: float  # until all routers were connected
    published: Published
    result: ProbeResult
    held: Sequence[int]  # filters that each router holds
    traced: Message
    trace: Traced

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        result = self.result
        return {
            "routers": len(self.plan.graph), "links": self.plan.graph.edge_count, "filters": self.filters,
            "up_seconds": round(self.seconds, 1), "published": len(self.published),
            "expected": result.expected, "delivered": result.delivered, "missed": result.missed,
            "spurious": result.spurious, "duplicates": result.duplicates,
            "filters_held": [min(self.held), max(self.held)],
        }  # fmt: skip


def run_small_network(folder: Path, report: StepReport = lambda _: None) -> NetworkRun:
    """Start the network of a folder, publish messages, and compare the deliveries with brute force."""
    from cbnet.matching.reference import match
    from cbnet.network.service.network_file import read_folder

    plan = read_folder(folder)
    predicates = read_predicates(folder)
    published = random_messages(predicates, [str(name) for name in plan.graph.names], _MESSAGES)
    report(f"brute force: {len(published)} messages against every filter")
    receivers = [match(predicates, message) for _, message in published]
    report(f"starting {len(plan.graph)} routers")
    began = time.monotonic()
    with ProcessNetwork.of(plan.graph, ports=plan.ports, data=plan.data, **plan.settings) as network:
        network.wait(timeout=_TIMEOUT)
        seconds = time.monotonic() - began
        number = _message_to_trace(published, receivers)
        router, message = published[number]
        with connect(str(network.addresses[router]), timeout=_TIMEOUT) as client:
            trace = client.trace(message.to_dict(), is_dry=True)
        report(f"publishing {len(published)} messages")
        counts = probe_deliveries(network.addresses, published, sum(map(len, receivers)))
        answers = statuses(network.addresses)
    return NetworkRun(
        plan=plan,
        filters=sum(map(len, predicates.values())),
        seconds=seconds,
        published=published,
        result=compare_deliveries(receivers, counts),
        held=[status.filters for status in answers.values()] or [0],
        traced=message,
        trace=trace,
    )


def read_predicates(folder: Path) -> dict[str, Predicate]:
    """Return the predicate of each node, read row by row as an independent check of the pipeline's tables."""
    import pyarrow.parquet as pq

    from cbnet.language import Filter, Predicate

    tags: dict[tuple[str, int], list[str]] = {}
    for file in sorted((folder / "predicates.parquet").glob("*.parquet")):
        for row in pq.ParquetFile(file).read().to_pylist():
            tags.setdefault((row["rule"], row["filter"]), []).append(row["name"])
    filters: dict[str, list[Filter]] = {}
    for (node, _), names in tags.items():
        filters.setdefault(node, []).append(Filter((), names))
    return {node: Predicate(each) for node, each in filters.items()}


def random_messages(
    predicates: Mapping[str, Predicate], routers: Sequence[str], count: int
) -> list[tuple[str, Message]]:
    """Return messages with the tags of one to three random filters, each with a random router."""
    from cbnet.language import Message

    random = Random(1)
    filters = [filter for predicate in predicates.values() for filter in predicate.filters]
    if not filters:
        raise CbnetError("no node has a filter: there is nothing to show")
    published = []
    for number in range(count):
        chosen = random.choices(filters, k=random.randint(1, 3))
        tags = sorted({tag for filter in chosen for tag in filter.tags})
        tags = [*tags[:1], _UNMATCHED] if number % 10 == 9 else tags  # most of these match no filter
        published.append((random.choice(routers), Message({}, tags)))
    return published


def _message_to_trace(published: Published, receivers: Sequence[Sequence[str]]) -> int:
    """Return the number of a message with a few receivers and many tags."""
    tags = [message.tags for _, message in published]
    some = [number for number, nodes in enumerate(receivers) if len(nodes) in _TRACED_RECEIVERS]
    return max(some, key=lambda number: (_UNMATCHED not in tags[number], len(tags[number])), default=0)


def compare_deliveries(receivers: Sequence[Sequence[str]], counts: DeliveryCounts) -> ProbeResult:
    """Compare deliveries with the expected receivers of each message."""
    expected = {(router, number) for number, routers in enumerate(receivers) for router in routers}
    delivered = expected & counts.keys()
    return ProbeResult(
        expected=len(expected),
        delivered=len(delivered),
        missed=len(expected - counts.keys()),
        spurious=sum(count for each, count in counts.items() if each not in expected),
        duplicates=sum(counts[each] - 1 for each in delivered),
    )


def probe_deliveries(
    routers: Mapping[str, Address], messages: Sequence[tuple[str, MessageLike]], expected: int
) -> DeliveryCounts:
    """Publish messages, each at a router, and return the deliveries.

    expected: number of deliveries to wait for; if fewer arrive, the wait ends when no more come.
    """
    received: DeliveryCounts = Counter()
    with ExitStack() as stack:
        clients = {
            name: stack.enter_context(connect(str(address), timeout=_TIMEOUT)) for name, address in routers.items()
        }
        subscriptions = {name: _initial_subscription(client, len(messages)) for name, client in clients.items()}
        for number, (router, message) in enumerate(messages):
            clients[router].publish(message, str(number).encode())
        last = time.monotonic()
        while received.total() < expected and time.monotonic() - last < _SILENCE:
            if _count(received, subscriptions):
                last = time.monotonic()
        time.sleep(_SETTLE)
        _count(received, subscriptions)
    return received


def _initial_subscription(client: Client, queue: int) -> Subscription | None:
    """Subscribe to the initial predicate of the router's node; None if it has none."""
    try:
        return client.subscribe_initial(queue=queue + 1)
    except Refused:
        return None


def _count(received: DeliveryCounts, subscriptions: Mapping[str, Subscription | None]) -> int:
    """Count the deliveries that have arrived; return how many there are."""
    before = received.total()
    for name, subscription in subscriptions.items():
        while subscription is not None and (delivery := subscription.get(_WAIT)) is not None:
            received[name, int(delivery.payload)] += 1
    return received.total() - before
