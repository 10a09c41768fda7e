"""The findings of the checker: counts, recovery times, and broken promises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Identity: TypeAlias = tuple[str, int]  # publisher and number


COUNTS: Final = {  # by name: its description
    "published": "messages published",
    "settled": "while the network had settled",
    "received": "received",
    "expected": "due to plain subscriptions",
    "checked": "of these promised",
    "confirmed": "of these by a confirmation",
    "missed": "not promised, and missed",
    "stored": "with a receipt",
    "silent": "not stored: homes silent",
    "refused": "not stored: disk full",
    "due": "due to durable subscriptions",
    "replayed": "due to subscriptions from the past",
    "repeated": "received again, as allowed",
    "requests": "requests",
    "reply": "with a reply",
    "cached reply": "with a reply from a cache",
    "no holder": "without a holder",
    "timeout": "that timed out",
    "gone": "whose requester lost its connection",
}


@dataclass
class Findings:
    """Counts of a run, and the broken promises by kind."""

    counts: Counter[str] = field(default_factory=Counter)  # of COUNTS
    faults: Counter[str] = field(default_factory=Counter)  # by kind
    ends: Counter[str] = field(default_factory=Counter)  # ended faults, by kind
    missed: list[tuple[float, int, bool]] = field(default_factory=list)  # time, missed deliveries, whether promised
    recoveries: dict[str, list[float]] = field(default_factory=dict)  # by kind of change: seconds until settled
    violations: dict[str, list[str]] = field(default_factory=dict)

    @property
    def is_good(self) -> bool:
        """Whether all promises were kept."""
        return not self.violations

    def violate(self, kind: str, text: str) -> None:
        """Add a violation."""
        self.violations.setdefault(kind, []).append(text)

    def number(self, *kinds: str) -> int:
        """Return the number of violations of these kinds."""
        return sum(len(self.violations.get(kind, ())) for kind in kinds)

    def texts(self) -> Iterator[str]:
        """Yield the violations, each with its kind."""
        return (f"{kind}: {text}" for kind, texts in self.violations.items() for text in texts)

    def check_offsets(self, name: str, messages: Mapping[int, Identity]) -> None:
        """Check that each message has one offset, in the order of its publisher."""
        places: dict[Identity, int] = {}
        last: dict[str, int] = {}
        for offset, identity in sorted(messages.items()):
            publisher, number = identity
            if identity in places:
                self.violate("stored twice", f"{name}: {publisher} {number} at offsets {places[identity]} and {offset}")
            elif number < last.get(publisher, 0):
                self.violate("order", f"{name}, offset {offset}: {publisher} {number} after {last[publisher]}")
            places.setdefault(identity, offset)
            last[publisher] = max(number, last.get(publisher, 0))
