"""Totals of one scheme over many sources and messages [2006 §2.3]."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cbnet.language.message import Message
from cbnet.routing.scheme import Scheme
from cbnet.routing.simulate.delivery import deliver
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

    @property
    def stretch_mean(self) -> float:
        """The mean over all deliveries to interested nodes."""
        return self.stretch_sum / self.delivered if self.delivered else 1.0


def sweep(scheme: Scheme, traffic: Iterable[tuple[int, Message]], *, limit: int | None = None) -> Totals:
    """Deliver messages, each from its source, and judge every delivery."""
    totals = Totals()
    for source, message in traffic:
        verdict = judge(scheme.network, deliver(scheme, source, message, limit=limit))
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
