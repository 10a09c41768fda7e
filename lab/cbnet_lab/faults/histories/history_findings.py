"""The findings of the check of a history: counts, and the promises that were broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Identity: TypeAlias = tuple[str, int]  # publisher and number


@dataclass
class HistoryFindings:
    """Counts of a history, and the violations of what was promised, by kind."""

    published: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)  # receipts
    due: int = 0  # messages with a receipt × subscriptions that must have them
    replayed: int = 0  # messages of logs × subscriptions from the past that must have them
    received: int = 0
    repeated: int = 0  # of these, allowed
    faults: Counter[str] = field(default_factory=Counter)  # by kind
    violations: dict[str, list[str]] = field(default_factory=dict)

    @property
    def is_good(self) -> bool:
        """Whether all promises were kept."""
        return not self.violations

    def violate(self, kind: str, text: str) -> None:
        """Add a violation."""
        self.violations.setdefault(kind, []).append(text)

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
