"""A gateway in a `MemoryNetwork`; its routers start and stop together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cbnet.network.link.context import Action
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
        if self.host.router is self.router:  # else it was killed meanwhile
            self.host.perform(actions)


class MemoryGateway:
    """A gateway whose routers have different names, like all hosts of a `MemoryNetwork`."""

    def __init__(self, memory: MemoryNetwork, name: str, settings: Sequence[Settings], outside: str = "exact") -> None:
        """Add and start its routers, one per domain (`Settings.network`)."""
        self._memory = memory
        self._name = name
        self._outside = outside
        self._hosts = [each.name for each in settings]
        self.gateway: Gateway | None = None
        for each in settings:
            memory.add(each)
        self._join()
        memory.every(TICK, lambda: None if self.gateway is None else self.gateway.tick())

    def kill(self, *, silently: bool = False) -> None:
        """Kill all its routers; silently: neighbours do not notice at once."""
        self.gateway = None
        for host in self._hosts:
            self._memory.kill(host, silently=silently)

    def start(self) -> None:
        """Restart the gateway without its former state."""
        for host in self._hosts:
            self._memory.start(host)
        self._join()

    def _join(self) -> None:
        sides = [_Side(self._memory.hosts[host], self._memory.router(host)) for host in self._hosts]
        self.gateway = Gateway(self._name, sides, self._outside, soon=lambda call: self._memory.after(0, call))
