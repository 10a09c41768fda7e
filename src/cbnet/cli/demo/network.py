"""The demo's network: routers that start with the rules of their nodes, and a check of every delivery.

The pipeline has written the rules of every node. Messages are published all over the network, and the deliveries are
compared with brute force: every message against every filter.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from cbnet.errors import CbnetError

if TYPE_CHECKING:
    from cbnet.cli.console import StepReport
    from cbnet.cli.demo.delivery_probe import ProbeResult
    from cbnet.language import Message, Predicate
    from cbnet.network import ProcessNetwork
    from cbnet.network.client.client_inbox import Traced
    from cbnet.network.service.network_file import NetworkPlan

_MESSAGES = 400
_UNMATCHED = "no receiver"  # a tag that no filter has
_TRACED_RECEIVERS = range(3, 6)  # of the message that is traced

Published = Sequence[tuple[str, "Message"]]  # router and message


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

    @property
    def is_correct(self) -> bool:
        """Whether every delivery was as expected."""
        return self.result.is_exact

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


def run_small_network(folder: Path, report: StepReport = lambda _: None, *, count: int = _MESSAGES) -> NetworkRun:
    """Start the network of a folder, publish messages, and compare the deliveries with brute force."""
    from cbnet.cli.demo.delivery_probe import compare_deliveries, probe_deliveries
    from cbnet.matching.reference import match
    from cbnet.network import ProcessNetwork, statuses
    from cbnet.network.service.network_file import read_folder, snapshot_folder

    plan = read_folder(folder)
    predicates = read_predicates(snapshot_folder(folder))
    published = random_messages(predicates, [str(name) for name in plan.graph.names], count)
    report(f"brute force: {len(published)} messages against every filter")
    receivers = [match(predicates, message) for _, message in published]
    report(f"starting {len(plan.graph)} routers")
    began = time.monotonic()
    with ProcessNetwork.of(plan.graph, ports=plan.ports, data=plan.data, **plan.settings) as network:
        network.wait(timeout=120)
        seconds = time.monotonic() - began
        number = _message_to_trace(published, receivers)
        trace = _trace(network, *published[number])
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
        traced=published[number][1],
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


def _trace(network: ProcessNetwork, router: str, message: Message) -> Traced:
    from cbnet.network import connect

    with connect(str(network.addresses[router])) as client:
        return client.trace(message.to_dict(), is_dry=True)
