"""Faults of a history in simulated time, each recorded.

Routers are killed, cables cut, clocks jump, disks are slow or full, clients leave, and publishers move to other
routers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from cbnet.network.simulation.durable_client import DurableMemoryClient
from cbnet.network.simulation.memory_client import MemoryClient
from cbnet.network.simulation.memory_disk import MemoryDisk
from cbnet.network.simulation.memory_network import MemoryNetwork
from cbnet_lab.faults.histories.history import Event, FaultEvent


class SimulatedFaults:
    """The faults of one history."""

    def __init__(
        self,
        memory: MemoryNetwork,
        random: Random,
        record: Callable[[Event], None],
        publishers: Sequence[DurableMemoryClient],
        subscribers: Sequence[MemoryClient],
    ) -> None:
        self._memory = memory
        self._random = random
        self._record = record
        self._publishers = publishers
        self._subscribers = subscribers
        self._names = [*memory.hosts]
        self._dead: set[str] = set()

    def break_one(self) -> None:
        """Break something."""
        random = self._random
        random.choice(
            (
                self._kill,
                self._kill,
                self._kill,
                self._cut,
                self._move,
                self._jump,
                self._spoil_disk,
                partial(self._disconnect, self._subscribers),
                partial(self._disconnect, self._publishers),
            )
        )()

    def _kill(self) -> None:
        name = self._random.choice(self._names)
        if name not in self._dead:
            self._memory.kill(name, silently=self._random.random() < 0.3)
            self._dead.add(name)
            self._fault(name, "kill")

    def _cut(self) -> None:
        if cables := self._memory.cables(cut=False):
            ends = self._random.choice(cables)
            self._memory.cut(*ends, noticed_by=self._random.choice((None, ends[:1], ())))
            self._fault("-".join(ends), "cut")

    def _move(self) -> None:
        client = self._random.choice(self._publishers)
        client.move(self._random.choice(self._names))
        self._fault(client.name, "move")

    def _jump(self) -> None:
        name = self._random.choice(self._names)
        self._memory.jump_clock(name, self._random.choice((-100.0, -1.0, 1.0, 5.0, 100.0)))
        self._fault(name, "clock jump")

    def _spoil_disk(self) -> None:
        name = self._random.choice(self._names)
        disk = self._memory.hosts[name].disk
        if disk is not None:
            delay = self._random.choice((0.001, 0.1, 2.0))
            self._set_disk(name, disk, is_full=self._random.random() < 0.3, delay=delay)

    def _set_disk(self, name: str, disk: MemoryDisk, *, is_full: bool, delay: float) -> None:
        if disk.is_full != is_full:
            self._fault(name, "full disk" if is_full else "free disk")
        disk.is_full, disk.delay = is_full, delay

    def _disconnect(self, clients: Sequence[MemoryClient]) -> None:
        if clients:
            client = self._random.choice(clients)
            client.disconnect(silently=self._random.random() < 0.5)
            self._fault(client.name, "disconnect")

    def _fault(self, of: str, kind: str) -> None:
        self._record(FaultEvent(self._memory.now, of, kind))

    def mend_one(self) -> None:
        """Mend something, perhaps."""
        kind = self._random.randrange(4)
        if kind == 0 and self._dead:
            self._start(self._random.choice(sorted(self._dead)))
        elif kind == 1 and (cables := self._memory.cables(cut=True)):
            self._memory.repair(*self._random.choice(cables))
        elif kind == 2:
            self._reconnect()
        else:
            self._restore_disks()

    def mend_all(self) -> None:
        """Mend everything."""
        for name in sorted(self._dead):
            self._start(name)
        for ends in self._memory.cables(cut=True):
            self._memory.repair(*ends)
        self._reconnect()
        self._restore_disks()

    def _start(self, name: str) -> None:
        self._dead.discard(name)
        self._memory.start(name)
        self._fault(name, "start")

    def _reconnect(self) -> None:
        for client in (*self._publishers, *self._subscribers):
            client.reconnect()

    def _restore_disks(self) -> None:
        for name, host in self._memory.hosts.items():
            if host.disk is not None:
                self._set_disk(name, host.disk, is_full=False, delay=0.01)
