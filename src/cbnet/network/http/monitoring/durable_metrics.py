"""Prometheus metrics of the durable subscriptions of a router, and of its journal.

Subscriptions and accounts have labels, at most `MAX_LABELS` of each, in the order of accounts and names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, islice
from typing import Final, TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from cbnet.network.durable.durable_router import DurableRouter
from cbnet.network.durable.home_log.journal_queue import JOURNAL_STATES
from cbnet.network.durable.home_log.journal_statistics import COMMIT_BOUNDS, JournalStatistics
from cbnet.network.protocol.durable_operation_frames import DurableField

MAX_LABELS: Final = 500
_Labels = tuple[str, ...]
Labels = TypeVar("Labels", bound=_Labels)


def family(
    kind: type[GaugeMetricFamily | CounterMetricFamily],
    name: str,
    text: str,
    labels: list[str],
    figures: Mapping[Labels, float],
) -> Metric:
    """Return a metric with labels."""
    metric = kind(name, text, labels=labels)
    for values, figure in figures.items():
        metric.add_metric([*values], figure)
    return metric


def buckets(bounds: Iterable[float], counts: Iterable[int]) -> list[tuple[str, float]]:
    """Return the buckets of a histogram; counts: of each, and of what is above the last bound."""
    names = [*(f"{bound:g}" for bound in bounds), "+Inf"]
    return [(name, float(count)) for name, count in zip(names, accumulate(counts), strict=True)]


class _Sums:
    """The figures of a subscription, or of all of an account."""

    def __init__(self, lost: int = 0, redelivered: int = 0) -> None:
        """Initialise; lost, redelivered: by subscriptions that were removed."""
        self.messages = self.bytes = self.unacknowledged = 0
        self.lost, self.redelivered = lost, redelivered
        self.oldest = 0.0

    def add(self, field: DurableField) -> None:
        """Add a subscription."""
        self.messages += field.messages
        self.bytes += field.bytes
        self.unacknowledged += field.unacknowledged
        self.lost += field.lost
        self.redelivered += field.redelivered
        self.oldest = min(filter(None, (self.oldest, field.oldest)), default=0.0)


def durable_metrics(durable: DurableRouter) -> Iterator[Metric]:
    """Yield the metrics; none if the router holds no home."""
    if durable.held is None:
        return
    registry = durable.held.registry
    subscriptions: dict[_Labels, _Sums] = {}
    accounts: defaultdict[_Labels, _Sums] = defaultdict(_Sums)
    for account, gone in registry.removed.items():
        accounts[account,] = _Sums(gone.lost, gone.redelivered)
    for each in registry.all(None):
        field = each.status()
        accounts[field.account,].add(field)
        if len(subscriptions) < MAX_LABELS:
            subscriptions[field.account, field.name] = _Sums()
            subscriptions[field.account, field.name].add(field)
    text = "Durable subscriptions of this router."
    yield GaugeMetricFamily("cbnet_durable_subscriptions", text, len(registry))
    yield from _families("cbnet_durable", "of a durable subscription", ["account", "subscription"], subscriptions)
    bounded = dict(islice(sorted(accounts.items()), MAX_LABELS))
    yield from _families("cbnet_durable_account", "of an account's durable subscriptions", ["account"], bounded)
    states = {(each,): float(each == durable.journal_state) for each in JOURNAL_STATES}
    yield family(GaugeMetricFamily, "cbnet_journal_state", "1 for the state of the journal.", ["state"], states)
    yield from _figures(durable.held.journal.statistics)


def _families(prefix: str, whose: str, labels: list[str], figures: Mapping[_Labels, _Sums]) -> Iterable[Metric]:
    for name, text, kind in (
        ("messages", "Unacknowledged messages", GaugeMetricFamily),
        ("bytes", "Bytes of the unacknowledged messages", GaugeMetricFamily),
        ("unacknowledged", "Messages sent to clients and not acknowledged", GaugeMetricFamily),
        ("oldest_timestamp_seconds", "Unix time of the oldest unacknowledged message; 0: none;", GaugeMetricFamily),
        ("lost", "Messages lost", CounterMetricFamily),
        ("redelivered", "Messages sent again", CounterMetricFamily),
    ):
        attribute = name.removesuffix("_timestamp_seconds")
        values = {labelled: getattr(sums, attribute) for labelled, sums in figures.items()}
        yield family(kind, f"{prefix}_{name}", f"{text} {whose}.", labels, values)


def _figures(statistics: JournalStatistics) -> Iterator[Metric]:
    commits = HistogramMetricFamily("cbnet_journal_commit_seconds", "Time until a transaction is synced to disk.")
    commits.add_metric([], buckets(COMMIT_BOUNDS, statistics.within), sum_value=statistics.seconds)
    yield commits
    if statistics.size is not None:
        used, free, disk = statistics.size
        yield GaugeMetricFamily("cbnet_journal_bytes", "Size of the files of the journal.", used)
        yield GaugeMetricFamily("cbnet_journal_free_bytes", "Free bytes in the files of the journal.", free)
        yield GaugeMetricFamily("cbnet_journal_disk_free_bytes", "Free bytes on the disk of the journal.", disk)
