"""Memory gateway: a gateway of a network in memory; its routers start and end together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cbnet.network.link.actions import Action
from cbnet.network.link.settings import Settings
from cbnet.network.router.gateway import Gateway
from cbnet.network.router.router import Router
from cbnet.network.simulation.memory_network import TICK, Host, MemoryNetwork


@dataclass(frozen=True)
class _Side:
    host: Host
    router: Router

    @property
    def now(self) -> float:
        return self.host.now

    def perform(self, actions: Iterable[Action]) -> None:
        self.host.perform(actions)


class MemoryGateway:
    """A gateway of which each router has a name of its own, as all hosts of a network in memory."""

    def __init__(self, memory: MemoryNetwork, name: str, settings: Sequence[Settings], outside: str = "exact") -> None:
        """Add its routers, one for each domain (`Settings.network`), and start them."""
        self._memory = memory
        self._name = name
        self._outside = outside
        self._hosts = [each.name for each in settings]
        self.gateway: Gateway | None = None
        for each in settings:
            memory.add(each)
        self._join()
        memory.every(TICK, self._tick)

    def kill(self, *, silently: bool = False) -> None:
        """End it; silently: its neighbours do not notice at once."""
        self.gateway = None
        for host in self._hosts:
            self._memory.kill(host, silently=silently)

    def start(self) -> None:
        """Start it again, with nothing in its memory."""
        for host in self._hosts:
            self._memory.start(host)
        self._join()

    def _join(self) -> None:
        sides = [_Side(self._memory.hosts[host], self._memory.router(host)) for host in self._hosts]
        self.gateway = Gateway(self._name, sides, self._outside)

    def _tick(self) -> None:
        if self.gateway is not None:
            self.gateway.tick()
