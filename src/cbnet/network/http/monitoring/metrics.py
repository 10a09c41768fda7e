"""Prometheus metrics of a router.

Nothing is counted here: a scrape reads counters that the router keeps anyway. Names, labels and units are stable;
`docs/how-to/run-a-router.md` lists them. Durable subscriptions and accounts have labels, at most `MAX_LABELS` of each,
in the order of accounts and names.
"""

from __future__ import annotations

import platform
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, islice
from typing import Final, TypeVar

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

from cbnet import __version__
from cbnet.network.durable.durable_router import DurableRouter
from cbnet.network.durable.home_log.journal import COMMIT_BOUNDS, JournalStatistics
from cbnet.network.durable.home_log.journal_queue import JOURNAL_STATES
from cbnet.network.forwarding.timed_table import BOUNDS_NS
from cbnet.network.link.counters import Event, denials, drops, events
from cbnet.network.protocol.durable_operation_frames import DurableField
from cbnet.network.protocol.fields import MAX_STATUS_INTERFACES
from cbnet.network.router.status import interfaces
from cbnet.network.transport.tcp_router import TcpRouter

MAX_LABELS: Final = 500
_Labels = tuple[str, ...]
Labels = TypeVar("Labels", bound=_Labels)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_CACHE = {Event.CACHE_HITS: "hit", Event.CACHE_MISSES: "miss"}
_CONFIRMATIONS = {
    "confirmed": (Event.CONFIRMED, Event.CONFIRMED_MS),
    "unconfirmed": (Event.UNCONFIRMED, Event.UNCONFIRMED_MS),
}
_IN_OTHER_METRICS = {*_CACHE, *(event for pair in _CONFIRMATIONS.values() for event in pair)}


def exposition(router: TcpRouter) -> bytes:
    """Return all metrics of a router in the Prometheus text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(RouterCollector(router))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


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


class RouterCollector(Collector):
    """The metrics of one router."""

    def __init__(self, router: TcpRouter) -> None:
        self._tcp = router
        self._router = router.router

    def collect(self) -> Iterable[Metric]:
        """Yield all metrics."""
        settings = self._router.settings
        about = {"version": __version__, "python": platform.python_version(), "router": settings.name,
                 "network": settings.network, "scheme": settings.routing}  # fmt: skip
        yield InfoMetricFamily("cbnet_build", "Version of the program, and name of the router.", about)
        for name, text, value in self._gauges():
            yield GaugeMetricFamily(name, text, float(value))
        yield from self._interfaces()
        yield from self._matching()
        yield from self._sizes()
        yield from durable_metrics(self._router.durable)
        yield from self._counted()
        yield from self._convergence()

    def _gauges(self) -> Iterator[tuple[str, str, float]]:
        """Yield name, description and value of each gauge without labels."""
        router = self._router
        yield "cbnet_uptime_seconds", "Seconds since the router started.", self._tcp.uptime
        yield "cbnet_draining", "1 while the router drains before it stops.", self._tcp.is_draining
        yield "cbnet_versions", "Versions of the topology in use.", len(router.versions.kept)
        yield "cbnet_version_complete", "1 if all streams of the newest version have arrived.", router.is_complete
        yield "cbnet_subscriptions", "Subscriptions of this router's clients.", len(router.fib)
        yield "cbnet_offers", "Offers of this router's clients.", len(router.offer_fib)
        yield "cbnet_cache_bytes", "Bytes of replies in the cache.", router.pulls.cache.size
        yield "cbnet_records", "Link records of all known routers.", len(router.database)
        yield "cbnet_reachable_routers", "Reachable routers, including this one.", len(router.version)
        history = router.durable.history_status()
        if history is not None:
            oldest = "Unix time of the oldest message in the history; 0 if it is empty."
            yield "cbnet_history_messages", "Messages in the history.", history.messages
            yield "cbnet_history_bytes", "Bytes of messages in the history.", history.bytes
            yield "cbnet_history_oldest_timestamp_seconds", oldest, history.oldest
            yield "cbnet_history_replays", "Subscriptions that read the history.", history.replays

    def _interfaces(self) -> Iterator[Metric]:
        totals = self._router.links.interfaces()
        for kind, name, text, attribute in (
            (CounterMetricFamily, "cbnet_messages_received", "Messages received, by interface.", "messages_received"),
            (CounterMetricFamily, "cbnet_messages_sent", "Messages sent or queued, by interface.", "messages_sent"),
            (CounterMetricFamily, "cbnet_received_bytes", "Bytes received, by interface.", "received"),
            (CounterMetricFamily, "cbnet_sent_bytes", "Bytes sent, by interface.", "sent"),
            (GaugeMetricFamily, "cbnet_send_queue_bytes", "Bytes queued for peers that are slow to read.", "waiting"),
        ):
            figures = {interface: getattr(traffic, attribute) for interface, traffic in totals.items()}
            yield family(kind, name, text, ["role", "interface"], figures)
        roles = Counter(link.hello.role for link in self._router.links.all() if link.hello is not None)
        links = {(role,): roles[role] for role in ("router", "client")}
        yield family(GaugeMetricFamily, "cbnet_links", "Open links, by role of the peer.", ["role"], links)

    def _matching(self) -> Iterator[Metric]:
        matches = CounterMetricFamily("cbnet_matches", "Messages matched against a table.", labels=["table"])
        seconds = HistogramMetricFamily(
            "cbnet_match_seconds", "Processor time of a match; one in 64 is timed.", labels=["table"]
        )
        bounds = [bound / 1e9 for bound in BOUNDS_NS]
        for name, fib in (("subscriptions", self._router.fib), ("offers", self._router.offer_fib)):
            times = fib.table.times()
            matches.add_metric([name], times[Event.MATCHES])
            sum_value = times[Event.MATCHES_TIMED_NS] / 1e9
            seconds.add_metric([name], buckets(bounds, fib.table.within), sum_value=sum_value)
        yield from (matches, seconds)

    def _sizes(self) -> Iterator[Metric]:
        router = self._router
        held = {
            (interface.neighbour, str(interface.trees[0]), kind): getattr(interface, kind)
            for interface in islice(interfaces(router), MAX_STATUS_INTERFACES)
            for kind in ("held", "announced", "covered")
        }
        streams = {("in",): len(router.streams.incoming), ("out",): len(router.streams.outgoing)}
        filters = {
            ("known",): len(router.fib.aggregation),
            ("own",): router.subscriptions.own_filters,
            ("offers",): len(router.offer_fib.aggregation),
            ("table",): router.fib.table.size,
        }
        text = "Filters of an interface; tree: the first one of those that share it."
        yield family(GaugeMetricFamily, "cbnet_interface_filters", text, ["neighbour", "tree", "filters"], held)
        yield family(GaugeMetricFamily, "cbnet_streams", "Open announcement streams.", ["direction"], streams)
        text = "Different filters, or filters in a table."
        yield family(GaugeMetricFamily, "cbnet_filters", text, ["filters"], filters)

    def _counted(self) -> Iterator[Metric]:
        counters = self._router.counters
        cache = {(result,): counters[event] for event, result in _CACHE.items()}
        other = {name: count for name, count in events(counters).items() if name not in _IN_OTHER_METRICS}
        for name, text, label, counts in (
            ("cbnet_dropped", "Messages and packets dropped, by reason.", "reason", drops(counters)),
            ("cbnet_denied", "Operations denied, by operation.", "reason", denials(counters)),
            ("cbnet_events", "Other events.", "event", other),
        ):
            yield family(CounterMetricFamily, name, text, [label], {(key,): n for key, n in sorted(counts.items())})
        text = "Look-ups in the reply cache, by result."
        yield family(CounterMetricFamily, "cbnet_cache_requests", text, ["result"], cache)

    def _convergence(self) -> Iterator[Metric]:
        router, counters = self._router, self._router.counters
        yield CounterMetricFamily("cbnet_view_changes", "Changes of the reachable part of the network.",
                                  router.versions.changes)  # fmt: skip
        yield GaugeMetricFamily("cbnet_view_changed_timestamp_seconds", "Unix time of the last such change.",
                                time.time() - self._tcp.view_age)  # fmt: skip
        confirmations = SummaryMetricFamily(
            "cbnet_confirmation_seconds", "Seconds from a subscription to its confirmation or timeout.",
            labels=["result"],
        )  # fmt: skip
        for result, (count, total_ms) in _CONFIRMATIONS.items():
            confirmations.add_metric([result], count_value=counters[count], sum_value=counters[total_ms] / 1000)
        yield confirmations


# --- durable subscriptions, and the journal


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
