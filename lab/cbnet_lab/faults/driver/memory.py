"""Faults of a network in memory, with a simulated clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Final

from cbnet.network.durable.home_log.journal import HISTORY_ID
from cbnet.network.simulation.memory_client import MemoryClient
from cbnet.network.simulation.memory_disk import DiskContent, MemoryDisk
from cbnet.network.simulation.memory_network import MemoryNetwork
from cbnet.network.simulation.shared_disk import LeasedDisk
from cbnet.network.transport.journals.journal_restore import with_loss
from cbnet_lab.faults.driver.driver import Fault

_DISK_DELAY = 0.01  # of a disk that is not slow, in seconds
SUSPEND_WRITER: Final = "suspend writer"
_SEPARATOR = ","  # of the routers in one part of a partition

Act = Callable[[Fault], bool]


class MemoryFaults:
    """Breaks and repairs parts of a network.

    kill, silent kill                         a router; its neighbours do not notice a silent kill at once
    cut, half-noticed cut, silent cut         a link, noticed by both ends, one or none
    partition                                 all links between some routers, such as 1,2,5, and the others
    clock jump, full disk, slow disk          of a router
    lost journal, restored journal            a router; it starts again with an empty disk, or a backup
    suspend                                   a router's process; the others notice that it is silent
    suspend writer                            a router of a home group, as it sends its next transaction
    database cut, slow clock                  of a router of a home group: it does not reach the database; the clock by
                                              which it counts its lease runs at this rate
    database away                             that of a home group
    leave, leave silently, stall, slow        a client disconnects, or stops reading: until it is dropped, or for less
    """

    def __init__(self, memory: MemoryNetwork, clients: Mapping[str, MemoryClient], acts: Mapping[str, Act]) -> None:
        """Initialise; acts: further kinds of faults, such as changes of subscriptions."""
        self._memory = memory
        self._clients = clients
        self._acts = acts
        self._cut: dict[Fault, list[tuple[str, str]]] = {}
        self._copies: dict[str, DiskContent] = {}  # of journals, by router

    @property
    def now(self) -> float:
        """The simulated time, in seconds."""
        return self._memory.now

    def wait(self, until: float) -> None:
        """Advance the simulated time."""
        self._memory.run(max(0.0, until - self._memory.now))

    def begin(self, fault: Fault) -> bool:
        """Break a part; return whether that was possible."""
        memory, kind, of = self._memory, fault.kind, fault.of
        if kind in self._acts:
            return self._acts[kind](fault)
        match kind:
            case "kill" | "silent kill":
                if memory.hosts[of].router is None:
                    return False
                memory.kill(of, silently=kind == "silent kill")
            case "lost journal" | "restored journal":
                return self._replace_journal(of, is_restored=kind == "restored journal")
            case "cut" | "half-noticed cut" | "silent cut" | "partition":
                return self._begin_cut(fault)
            case "clock jump":
                memory.jump_clock(of, fault.size)
            case "full disk" | "slow disk":
                return self._set_disk(of, is_full=kind == "full disk", delay=fault.size or _DISK_DELAY)
            case "suspend":
                memory.hosts[of].suspend()
            case "suspend writer":
                return self._suspend_writer(of, memory.hosts[of].suspend)
            case "database away" | "database cut" | "slow clock":
                return self._set_database(fault, is_broken=True)
            case "leave" | "leave silently":
                self._clients[of].disconnect(silently=kind == "leave silently")
            case "stall" | "slow":
                self._clients[of].freeze(fault.duration)
            case _:
                raise ValueError(f"unknown fault {kind!r}")
        return True

    def end(self, fault: Fault) -> None:
        """Repair a part."""
        match fault.kind:
            case "kill" | "silent kill" | "lost journal" | "restored journal":
                self._memory.start(fault.of)
            case "cut" | "half-noticed cut" | "silent cut" | "partition":
                for cable in self._cut.pop(fault):
                    self._memory.repair(*cable)
            case "full disk" | "slow disk":
                self._set_disk(fault.of, is_full=False, delay=_DISK_DELAY)
            case "suspend" | "suspend writer":
                self._suspend_writer(fault.of, None)
                self._memory.hosts[fault.of].resume()
            case "database away" | "database cut" | "slow clock":
                self._set_database(fault, is_broken=False)
            case "leave" | "leave silently":
                self._clients[fault.of].reconnect()

    def copy_journal(self, router: str) -> None:
        """Copy the journal of a router, to be restored by the faults that follow."""
        disk = self._memory.hosts[router].disk
        assert isinstance(disk, MemoryDisk)
        self._copies[router] = disk.copy()

    def _replace_journal(self, router: str, *, is_restored: bool) -> bool:
        host = self._memory.hosts[router]
        if host.router is None or not isinstance(host.disk, MemoryDisk) or (is_restored and router not in self._copies):
            return False
        self._memory.kill(router)
        host.disk.replace(self._restored(router) if is_restored else None)
        return True

    def _restored(self, router: str) -> DiskContent:
        """Return the copy of a journal, as `restore` changes it."""
        content = deepcopy(self._copies[router])
        state = content.state
        state.id = self._memory.random.getrandbits(62)
        for each in state.subscriptions:
            if each.id != HISTORY_ID:
                state.losses[each.id] = with_loss(state.losses[each.id])
        return content

    def _begin_cut(self, fault: Fault) -> bool:
        routers = {*fault.of.split(_SEPARATOR)}
        whole = self._memory.cables(cut=False)
        if fault.kind == "partition":
            cut = [(a, b) for a, b in whole if (a in routers) != (b in routers)]
        else:
            cut = [cable for cable in whole if "-".join(cable) == fault.of]
        for cable in cut:
            noticed = {"half-noticed cut": cable[:1], "silent cut": ()}.get(fault.kind)
            self._memory.cut(*cable, noticed_by=noticed)
        self._cut[fault] = cut
        return bool(cut)

    def _set_database(self, fault: Fault, *, is_broken: bool) -> bool:
        for name, host in self._memory.hosts.items():
            disk = host.disk
            if not isinstance(disk, LeasedDisk):
                continue
            if fault.kind == "database away":
                disk.shared.is_away = is_broken
            elif fault.of == name and fault.kind == "database cut":
                (disk.cut if is_broken else disk.mend)()
            elif fault.of == name:
                disk.set_clock_rate(fault.size if is_broken else 1.0)
        return True

    def _suspend_writer(self, router: str, on_sent: Callable[[], None] | None) -> bool:
        disk = self._memory.hosts[router].disk
        if isinstance(disk, LeasedDisk):
            disk.on_sent = on_sent
        return True

    def _set_disk(self, router: str, *, is_full: bool, delay: float) -> bool:
        disk = self._memory.hosts[router].disk
        if disk is None:
            return False
        disk.is_full, disk.delay = is_full, delay
        return True
