"""The findings of the checker: counts, recoveries, and the promises that were broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

Identity: TypeAlias = tuple[str, int]  # publisher and number


@dataclass(frozen=True)
class Recovery:
    """The time from a change in a settled network until it had settled again."""

    kinds: Sequence[str]  # of faults, in order
    seconds: float  # since the first
    since_last: float


@dataclass
class Findings:
    """Counts of a run, and the violations of what was promised, by kind.

    counts  published, received; stored, silent, refused: receipts; due: messages with a receipt × durable subscriptions
            that must have them; replayed: messages of logs × subscriptions from the past that must have them;
            repeated: received again, as allowed; settled: messages in a settled network; expected: deliveries to
            plain subscriptions; checked: those that were promised; confirmed: those by a confirmation; missed: those
            that were not promised and did not arrive; requests, and their outcomes
    """

    counts: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)  # by kind
    ends: Counter[str] = field(default_factory=Counter)  # of faults, by kind
    missed: list[tuple[float, int, bool]] = field(default_factory=list)  # time of a message, deliveries, were promised
    recoveries: list[Recovery] = field(default_factory=list)
    violations: dict[str, list[str]] = field(default_factory=dict)

    @property
    def is_good(self) -> bool:
        """Whether all promises were kept."""
        return not self.violations

    def violate(self, kind: str, text: str) -> None:
        """Add a violation."""
        self.violations.setdefault(kind, []).append(text)

    def number(self, *kinds: str) -> int:
        """Return the number of violations of some kinds."""
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
