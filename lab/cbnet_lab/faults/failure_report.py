"""Failures under load as a benchmark: losses beside the guarantees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cbnet_lab.bench.result_table import ResultTable
from cbnet_lab.faults.failures import FailureOutcome, Missed, bench_failure

if TYPE_CHECKING:
    from cbnet_lab.bench.bench_input import Report
    from cbnet_lab.bench.plans import NetworkBenchPlan

_DEFAULT = ("powerlaw:20",)
_EVENTS = {
    "link": ("link {} cut: both ends notice at once", "link restored"),
    "silent-link": ("link {} silent: both ends notice after 3.5 s", "link restored"),
    "router": ("router {} killed; it has no clients", "router restarted"),
    "routers": ("routers {} killed in turn; they have no clients", "each restarted"),
    "random": ("random kills of routers {}, which have no clients", "restarts"),
}
_GUARANTEES = {
    "Duplicates": "repeated",
    "Spurious deliveries": "spurious",
    "Deliveries out of order while the network is quiet": "order",
    "Deliveries missed while the network is quiet": "lost",
}


def run(plan: NetworkBenchPlan, report: Report) -> Iterator[FailureOutcome]:
    """Let links or routers of each network fail."""
    for graph in plan.graphs or _DEFAULT:
        yield bench_failure(replace(plan, graphs=(graph,)), plan.fail or "", plan.seconds, report)


def tables(plan: NetworkBenchPlan, rows: Sequence[FailureOutcome]) -> Iterator[str | ResultTable[tuple[str, Missed]]]:
    """Yield the missed messages of each phase, and whether the guarantees held."""
    for row in rows:
        yield (
            f"{row.plan.topology}, trees {plan.routing}, seed {plan.seed}: {plan.subscribers:,} subscribers, "
            f"{row.order.count:,} messages at {row.order.rate:,.0f} per second, "
            f"{row.found.counts['expected']:,} deliveries, {row.found.faults.total():,} failures\n"
        )
        failure, repair = _EVENTS[row.kind]
        phases = [
            (failure.format(", ".join(row.victims)), row.after_failure),
            (repair, row.after_repair),
            ("quiet network", row.quiet),
        ]
        yield ResultTable("Missed", phases, {
            "event": lambda phase: phase[0],
            "messages": lambda phase: phase[1].messages,
            "deliveries": lambda phase: phase[1].deliveries,
            "last sent after": lambda phase: f"{phase[1].seconds * 1000:,.0f} ms" if phase[1].seconds else None,
            "converged after": lambda phase: f"{phase[1].converged:.1f} s" if phase[1].converged else None,
        })  # fmt: skip
        for text, kind in _GUARANTEES.items():
            count = row.found.number(kind)
            yield f"guaranteed    {text}: {count:,}{' (BROKEN)' if count else ''}."
        yield "best effort   Messages in flight during a change may be missed, as in the table; nothing is resent."
        dropped = ", ".join(f"{count:,} {reason}" for reason, count in sorted(row.dropped.items())) or "nothing"
        yield f"dropped       {dropped}."
        if row.reconnects:
            yield f"meanwhile     {row.reconnects:,} clients reconnected: messages in flight may be missed."
