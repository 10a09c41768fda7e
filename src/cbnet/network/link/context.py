"""Context that all parts of one router share."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from cbnet.network.link.actions import Outbox
from cbnet.network.link.clock import Clock
from cbnet.network.link.counters import DropReason
from cbnet.network.link.settings import Settings


@dataclass
class RouterContext:
    """The surroundings of every part of a router."""

    settings: Settings
    life: int
    gateway_path: tuple[str, ...] = ()  # of a gateway: from the root of the gateway tree to itself
    outbox: Outbox = field(default_factory=Outbox)
    counters: Counter[str] = field(default_factory=Counter)
    clock: Clock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = Clock(self.settings.heartbeat)

    @property
    def name(self) -> str:
        """The name of the router."""
        return self.settings.name

    @property
    def now(self) -> float:
        """The time."""
        return self.clock.now

    def drop(self, reason: DropReason) -> None:
        """Count something that does not go on."""
        self.counters[reason.key] += 1
