"""Traffic counters of one link."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class LinkTraffic:
    """Bytes and messages that passed over a link, as counted by its transport."""

    received: int = 0  # bytes
    sent: int = 0  # bytes
    waiting: int = 0  # bytes queued for a peer that does not read
    dropped: int = 0  # messages dropped because the peer reads too slowly
    messages_received: int = 0
    messages_sent: int = 0
