"""The log events of a router; `docs/how-to/run-a-router.md` lists them.

Messages are never logged, nor their content, tokens or keys.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any

from cbnet.network.link.counters import DropReason, denials, drops
from cbnet.network.link.link import Link
from cbnet.network.logs import log
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.frames import Hello
from cbnet.network.router.router import Router

_TOTALS_INTERVAL = 10.0  # seconds
_NETWORK_INTERVAL = 1.0  # seconds: while a network starts, its view changes all the time


class EventLog:
    """The log of one router."""

    def __init__(self, router: Router) -> None:
        self._router = router
        self._version = router.version
        self._is_complete = True
        self._logged: Counter[str] = Counter()
        self._totals_due = 0.0
        self._network_due = float("-inf")
        self.context: dict[str, str] = {}  # members of all lines: identifies the router in a process with several

    # --- single events

    def log(self, level: int, event: str, **members: Any) -> None:
        """Log an event of this router."""
        log(level, event, **self.context | members)

    def refused(self, address: str, reason: str) -> None:
        """Log that a peer was refused."""
        self.log(logging.WARNING, "refused", address=address, reason=reason)

    def link_up(self, link: Link, now: float) -> None:
        """Log a link whose peer has sent its Hello, once."""
        if link.up_since is None and link.hello is not None:
            link.up_since = now
            self.log(logging.INFO, "link up", **_peer(link, link.hello))

    def link_down(self, link: Link, reason: str, now: float) -> None:
        """Log that a link was closed, or that a new connection was refused."""
        if link.close_reason is not None:
            reason = f"closed by the peer: {link.close_reason}"
        if link.up_since is not None and link.hello is not None:
            seconds = round(now - link.up_since, 1)
            self.log(logging.INFO, "link down", **_peer(link, link.hello), reason=reason, seconds=seconds)
        elif reason:
            self.refused(link.address, reason)

    def unreachable(self, name: str, address: Address, error: Exception, *, is_first: bool) -> None:
        """Log that a neighbour cannot be dialled; as a warning only the first time."""
        level = logging.WARNING if is_first else logging.DEBUG
        self.log(level, "unreachable", name=name, address=str(address), reason=str(error) or type(error).__name__)

    def stopped(self, uptime: float) -> None:
        """Log that the router has stopped."""
        self._log_totals()
        self.log(logging.INFO, "stopped", uptime=round(uptime, 1))

    # --- periodic events

    def check(self, now: float) -> None:
        """Log changes of the network, and the totals, when due."""
        if now >= self._network_due:
            self._network_due = now + _NETWORK_INTERVAL
            version = self._router.version
            if version is not self._version:
                self._version = version
                self._is_complete = False
                self.log(logging.INFO, "network", reachable=len(version), links=len(version.edges))
            if not self._is_complete and self._router.is_complete:
                self._is_complete = True
                streams, filters = self._router.streams, len(self._router.fib.aggregation)
                self.log(logging.INFO, "announcements", received=len(streams.incoming), sent=len(streams.outgoing),
                          filters=filters)  # fmt: skip
        if now >= self._totals_due:
            self._totals_due = now + _TOTALS_INTERVAL
            self._log_totals()

    def _log_totals(self) -> None:
        counters = Counter(self._router.counters)
        new, self._logged = counters - self._logged, counters
        for reason, count in sorted(denials(new).items()):
            self.log(logging.WARNING, "denied", reason=reason, count=count)
        for reason, count in sorted(drops(new).items()):
            usual = reason == DropReason.DUPLICATE  # every change of the topology causes some
            self.log(logging.INFO if usual else logging.WARNING, "dropped", reason=reason, count=count)
        records = {name.removeprefix("records_"): new[name] for name in sorted(new) if name.startswith("records_")}
        if records:
            self.log(logging.INFO, "records", **records, known=len(self._router.database))


def _peer(link: Link, hello: Hello) -> dict[str, str]:
    return {"name": hello.name, "role": hello.role, "address": link.address}
