"""Prometheus metrics of a router.

Nothing is counted here: a scrape reads counters that the router keeps anyway. Names, labels and units are stable;
`docs/how-to/run-a-router.md` lists them.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Iterator
from itertools import islice

from cbnet import __version__
from cbnet.errors import CbnetError
from cbnet.network.forwarding.timed_table import BOUNDS_NS, TimedTable
from cbnet.network.link.counters import Event, denials, drops, events
from cbnet.network.protocol.fields import MAX_STATUS_INTERFACES
from cbnet.network.router.status import interfaces
from cbnet.network.transport.tcp_router import TcpRouter

try:
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

    from cbnet.network.http.monitoring.durable_metrics import durable_metrics
except ImportError:
    raise CbnetError("metrics need prometheus-client: pip install 'cbnet[network]'") from None

from cbnet.network.http.monitoring.durable_metrics import durable_metrics  # needs the package, too

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


class RouterCollector(Collector):
    """The metrics of one router."""

    def __init__(self, router: TcpRouter) -> None:
        self._tcp = router
        self._router = router.router

    def collect(self) -> Iterable[Metric]:
        """Yield all metrics."""
        yield from self._identity()
        yield from self._interfaces()
        yield from self._matching()
        yield from self._announcements()
        yield from self._sizes()
        yield from durable_metrics(self._router.durable)
        yield from self._counted()
        yield from self._convergence()

    def _identity(self) -> Iterator[Metric]:
        settings = self._router.settings
        about = {"version": __version__, "python": platform.python_version(), "router": settings.name,
                 "network": settings.network, "scheme": settings.routing}  # fmt: skip
        yield InfoMetricFamily("cbnet_build", "Version of the program, and name of the router.", about)
        yield GaugeMetricFamily("cbnet_uptime_seconds", "Seconds since the router started.", self._tcp.uptime)
        yield GaugeMetricFamily(
            "cbnet_draining", "1 while the router drains before it stops.", float(self._tcp.is_draining)
        )

    def _interfaces(self) -> Iterator[Metric]:
        labels = ["role", "interface"]
        totals = self._router.links.interfaces()
        for name, text, attribute in (
            ("cbnet_messages_received", "Messages received, by interface.", "messages_received"),
            ("cbnet_messages_sent", "Messages sent or queued, by interface.", "messages_sent"),
            ("cbnet_received_bytes", "Bytes received, by interface.", "received"),
            ("cbnet_sent_bytes", "Bytes sent, by interface.", "sent"),
        ):
            counter = CounterMetricFamily(name, text, labels=labels)
            for interface, traffic in totals.items():
                counter.add_metric(list(interface), getattr(traffic, attribute))
            yield counter
        queued = GaugeMetricFamily(
            "cbnet_send_queue_bytes", "Bytes queued for peers that are slow to read.", labels=labels
        )
        for interface, traffic in totals.items():
            queued.add_metric(list(interface), traffic.waiting)
        yield queued
        links = GaugeMetricFamily("cbnet_links", "Open links, by role of the peer.", labels=["role"])
        roles = [link.hello.role for link in self._router.links.all() if link.hello is not None]
        for role in ("router", "client"):
            links.add_metric([role], roles.count(role))
        yield links

    def _matching(self) -> Iterator[Metric]:
        tables = self._tables()
        matches = CounterMetricFamily("cbnet_matches", "Messages matched against a table.", labels=["table"])
        seconds = HistogramMetricFamily(
            "cbnet_match_seconds", "Processor time of a match; one in 64 is timed.", labels=["table"]
        )
        for name, table in tables.items():
            times, within = table.times(), table.within
            matches.add_metric([name], times[Event.MATCHES])
            bounds = [f"{bound / 1e9:g}" for bound in BOUNDS_NS] + ["+Inf"]
            buckets = [(bound, float(sum(within[: index + 1]))) for index, bound in enumerate(bounds)]
            seconds.add_metric([name], buckets, sum_value=times[Event.MATCHES_TIMED_NS] / 1e9)
        yield matches
        yield seconds

    def _announcements(self) -> Iterator[Metric]:
        router = self._router
        filters = GaugeMetricFamily(
            "cbnet_interface_filters", "Filters of an interface; tree: the first one of those that share it.",
            labels=["neighbour", "tree", "filters"],
        )  # fmt: skip
        for interface in islice(interfaces(router), MAX_STATUS_INTERFACES):
            for kind in ("held", "announced", "covered"):
                filters.add_metric([interface.neighbour, str(interface.trees[0]), kind], getattr(interface, kind))
        yield filters
        streams = GaugeMetricFamily("cbnet_streams", "Open announcement streams.", labels=["direction"])
        streams.add_metric(["in"], len(router.streams.incoming))
        streams.add_metric(["out"], len(router.streams.outgoing))
        yield streams
        yield GaugeMetricFamily("cbnet_versions", "Versions of the topology in use.", len(router.versions.kept))
        yield GaugeMetricFamily("cbnet_version_complete", "1 if all streams of the newest version have arrived.",
                                float(router.is_complete))  # fmt: skip

    def _sizes(self) -> Iterator[Metric]:
        router = self._router
        filters = GaugeMetricFamily("cbnet_filters", "Different filters, or filters in a table.", labels=["filters"])
        filters.add_metric(["known"], len(router.fib.aggregation))
        filters.add_metric(["own"], router.subscriptions.own_filters)
        filters.add_metric(["offers"], len(router.offer_fib.aggregation))
        filters.add_metric(["table"], router.fib.table.size)
        yield filters
        yield GaugeMetricFamily("cbnet_subscriptions", "Subscriptions of this router's clients.",
                                len(router.fib))  # fmt: skip
        yield GaugeMetricFamily("cbnet_offers", "Offers of this router's clients.", len(router.offer_fib))
        yield GaugeMetricFamily("cbnet_cache_bytes", "Bytes of replies in the cache.", router.pulls.cache.size)
        history = router.durable.history_status()
        if history is not None:
            yield GaugeMetricFamily("cbnet_history_messages", "Messages in the history.", history.messages)
            yield GaugeMetricFamily("cbnet_history_bytes", "Bytes of messages in the history.", history.bytes)
            yield GaugeMetricFamily("cbnet_history_oldest_timestamp_seconds",
                                    "Unix time of the oldest message in the history; 0 if it is empty.",
                                    history.oldest)  # fmt: skip
            yield GaugeMetricFamily("cbnet_history_replays", "Subscriptions that read the history.", history.replays)
        yield GaugeMetricFamily("cbnet_records", "Link records of all known routers.", len(router.database))
        yield GaugeMetricFamily("cbnet_reachable_routers", "Reachable routers, including this one.",
                                len(router.version))  # fmt: skip

    def _counted(self) -> Iterator[Metric]:
        dropped = CounterMetricFamily("cbnet_dropped", "Messages and packets dropped, by reason.", labels=["reason"])
        denied = CounterMetricFamily("cbnet_denied", "Operations denied, by operation.", labels=["reason"])
        cache = CounterMetricFamily(
            "cbnet_cache_requests", "Look-ups in the reply cache, by result.", labels=["result"]
        )
        others = CounterMetricFamily("cbnet_events", "Other events.", labels=["event"])
        counters = self._router.counters
        other = {name: count for name, count in events(counters).items() if name not in _IN_OTHER_METRICS}
        for metric, counts in ((dropped, drops(counters)), (denied, denials(counters)), (others, other)):
            for identifier, count in sorted(counts.items()):
                metric.add_metric([identifier], count)
        for event, result in _CACHE.items():
            cache.add_metric([result], counters[event])
        yield from (dropped, denied, cache, others)

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

    def _tables(self) -> dict[str, TimedTable]:
        return {"subscriptions": self._router.fib.table, "offers": self._router.offer_fib.table}
