"""EventLog: which of all that happens at a router is worth a line in its log?

    started  link up  link down  refused  unreachable      as they happen
    network                                                what can be reached has changed
    dropped  denied  records                               in sums, every ten seconds, if there is something to tell
    draining  drained  ended

No line for a message, and nothing of what is in one; no token or key.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from typing import Any

from cbnet.network.link.counters import DropReason, denials, drops
from cbnet.network.link.links import Link
from cbnet.network.logs import log
from cbnet.network.protocol.addresses import Address
from cbnet.network.router.router import Router
from cbnet.network.transport.connection import Connection

_BETWEEN = 10.0  # seconds between two sums
_LOOK = 1.0  # seconds between two looks at the network: while it starts, each finds another one


@dataclass
class _Known:
    role: str
    name: str
    address: str
    since: float


class EventLog:
    """What the log of one router says."""

    def __init__(self, router: Router) -> None:
        self._router = router
        self._up: dict[int, _Known] = {}
        self._said: dict[int, str] = {}  # why the other side closes a link
        self._view = router.view
        self._told: Counter[str] = Counter()
        self._due = 0.0
        self._looked = float("-inf")
        self.about: dict[str, str] = {}  # members of all lines: which router it is, in a process that has several

    # --- as it happens

    def started(self, where: Address) -> None:
        """Tell that the router listens."""
        settings = self._router.settings
        self._log(logging.INFO, "started", name=settings.name, network=settings.network, scheme=settings.routing,
                  address=str(where))  # fmt: skip

    def pages(self, where: Address) -> None:
        """Tell that HTTP is answered."""
        self._log(logging.INFO, "pages", address=str(where))

    def refused(self, address: str, reason: str) -> None:
        """Tell that somebody was not let in."""
        self._log(logging.WARNING, "refused", address=address, reason=reason)

    def met(self, number: int, link: Link, connection: Connection, now: float) -> None:
        """Tell of a link whose other side is known, once."""
        if number in self._up or link.hello is None:
            return
        known = self._up[number] = _Known(link.hello.role, link.hello.name, connection.other_side, now)
        self._log(logging.INFO, "link up", name=known.name, role=known.role, address=known.address)

    def said(self, number: int, reason: str) -> None:
        """Take note why the other side closes a link."""
        self._said[number] = reason

    def down(self, number: int, address: str, reason: str, now: float) -> None:
        """Tell that a link is gone, or that somebody came and was refused."""
        known, said = self._up.pop(number, None), self._said.pop(number, None)
        why = reason if said is None else f"it says: {said}"
        if known is not None:
            self._log(logging.INFO, "link down", name=known.name, role=known.role, address=known.address, reason=why,
                      seconds=round(now - known.since, 1))  # fmt: skip
        elif reason:
            self.refused(address, why)

    def unreachable(self, name: str, where: Address, error: Exception, *, is_first: bool) -> None:
        """Tell that a neighbour cannot be dialled; loudly only once."""
        level = logging.WARNING if is_first else logging.DEBUG
        self._log(level, "unreachable", name=name, address=str(where), reason=str(error) or type(error).__name__)

    def draining(self, seconds: float) -> None:
        """Tell that the router is about to end."""
        self._log(logging.INFO, "draining", at_most_seconds=seconds)

    def drained(self, seconds: float, *, is_known: bool, waiting: int) -> None:
        """Tell how that went: whether all routers know, and how many bytes were not taken in time."""
        is_good = is_known and not waiting
        self._log(logging.INFO if is_good else logging.WARNING, "drained", seconds=round(seconds, 2), is_known=is_known,
                  bytes_left=waiting)  # fmt: skip

    def ended(self, seconds: float) -> None:
        """Tell that the router has ended."""
        self._sum_up()
        self._log(logging.INFO, "ended", uptime=round(seconds, 1))

    # --- now and then

    def check(self, now: float) -> None:
        """Tell what has changed since this was last asked for."""
        if now >= self._looked + _LOOK:
            self._looked = now
            view = self._router.view
            if view is not self._view:
                self._view = view
                self._log(logging.INFO, "network", reachable=len(view), links=len(view.edges))
        if now >= self._due:
            self._due = now + _BETWEEN
            self._sum_up()

    def _sum_up(self) -> None:
        counters = Counter(self._router.counters)
        new, self._told = counters - self._told, counters
        for reason, count in sorted(denials(new).items()):
            self._log(logging.WARNING, "denied", reason=reason, count=count)
        for reason, count in sorted(drops(new).items()):
            usual = reason == DropReason.DUPLICATE  # every change of the topology causes some
            self._log(logging.INFO if usual else logging.WARNING, "dropped", reason=reason, count=count)
        records = {name.removeprefix("records_"): new[name] for name in sorted(new) if name.startswith("records_")}
        if records:
            self._log(logging.INFO, "records", **records,
                      known=len(self._router.database), filters=self._router.database.predicates.count)  # fmt: skip

    def _log(self, level: int, event: str, **members: Any) -> None:
        log(level, event, **self.about | members)
