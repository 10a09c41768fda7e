"""Totals of one scheme over many sources and messages [2006 §2.3]."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cbnet.language.message import Message
from cbnet.routing.scheme import Scheme
from cbnet.routing.simulate.delivery import deliver
from cbnet.routing.simulate.ideal import MAX_DESTINATIONS, is_ideal
from cbnet.routing.simulate.verdict import judge


@dataclass
class Totals:
    """Sums over deliveries."""

    messages: int = 0
    delivered: int = 0
    missed: int = 0
    spurious: int = 0
    duplicates: int = 0
    packets: int = 0
    header_bytes: int = 0
    stretch_sum: float = 0.0
    stretch_max: float = 1.0
    cut: int = 0  # messages that reached the packet limit
    ideal_checked: int = 0  # deliveries with few enough interested nodes for an exact search, if requested
    ideal: int = 0  # ideal ones among them

    @property
    def stretch_mean(self) -> float:
        """The mean over all deliveries to interested nodes."""
        return self.stretch_sum / self.delivered if self.delivered else 1.0


def sweep(
    scheme: Scheme, traffic: Iterable[tuple[int, Message]], *, limit: int | None = None, check_ideal: bool = False
) -> Totals:
    """Deliver messages, each from its source, and judge every delivery.

    check_ideal: also search for smaller deliveries, where one to MAX_DESTINATIONS nodes are interested.
    """
    totals = Totals()
    for source, message in traffic:
        delivery = deliver(scheme, source, message, limit=limit)
        verdict = judge(scheme.network, delivery)
        if check_ideal and 0 < verdict.delivered + verdict.missed <= MAX_DESTINATIONS:
            totals.ideal_checked += 1
            totals.ideal += is_ideal(scheme.network, delivery)
        totals.messages += 1
        totals.delivered += verdict.delivered
        totals.missed += verdict.missed
        totals.spurious += verdict.spurious
        totals.duplicates += verdict.duplicates
        totals.packets += verdict.packets
        totals.header_bytes += verdict.header_bytes
        totals.stretch_sum += sum(verdict.stretches)
        totals.stretch_max = max(totals.stretch_max, *verdict.stretches) if verdict.stretches else totals.stretch_max
        totals.cut += verdict.is_cut
    return totals
