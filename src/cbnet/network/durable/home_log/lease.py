"""Lease of a home: how long the router that holds it may act without an answer from the database.

    renewed ──────────────────► stops acting ─────────► ends: another router may take the home
            LEASE − MARGIN                     MARGIN

The lease ends by the clock of the database. The router counts by its own, from when it sent what renewed the lease, and
stops earlier: so no two routers act for a home unless the clock of one loses a third of the time. Even then they cannot
both store, as each transaction is refused unless its router has taken the home last.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final

LEASE: Final = 3.0  # seconds
MARGIN: Final = 1.0  # seconds
RENEWAL: Final = 0.75  # seconds between renewals of a router that writes nothing
POLL: Final = 0.25  # seconds between attempts to take a home


class Lease:
    """The lease of one router."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Initialise; clock: seconds, also of those for which the router is suspended."""
        self.clock = clock
        self.renewed_at = -inf
        self._end = -inf

    @property
    def is_held(self) -> bool:
        """Whether the router may act for the home."""
        return self.clock() < self._end

    @property
    def is_due(self) -> bool:
        """Whether the lease is to be renewed."""
        return self.clock() >= self.renewed_at + RENEWAL

    def renew(self, sent: float) -> None:
        """Record that the lease was renewed by what was sent at a time."""
        self.renewed_at, self._end = sent, sent + LEASE - MARGIN

    def end(self) -> None:
        """Stop acting."""
        self._end = -inf
