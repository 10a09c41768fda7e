"""Rate limits of clients: messages and bytes per second of an account, over all its links.

Each account has a reserve of one second. Traffic beyond the rates is not refused: the router stops reading from the
client's links until the reserve has recovered. This back-pressure slows the client down, and nothing is lost.

    reserve ──► messages that are handled now ──► reserve used up ──► pause ──► …

The kernel handles at most as many messages as the reserve allows. Bytes are counted as they are read, up to 128 KiB at
a time: the reserve of bytes may become negative, and the pause lasts until it is not.
"""

from __future__ import annotations

from typing import Final

from cbnet.network.link.link import Link
from cbnet.network.router.router import ANY_NUMBER

_SHORTEST: Final = 0.005  # seconds; shortest pause, so that several messages are handled after it


class Reserve:
    """The unused part of a rate; at most the amount that accrues in one second."""

    def __init__(self, now: float) -> None:
        self._left: float | None = None  # None: full
        self._since = now

    def left(self, rate: int, now: float) -> float:
        """Return the remaining amount."""
        accrued = rate * max(0.0, now - self._since)
        self._since = now
        self._left = float(rate) if self._left is None else min(self._left + accrued, float(rate))
        return self._left

    def use(self, count: int) -> None:
        """Use `count` of the reserve; an excess over the remaining amount becomes a debt."""
        if self._left is not None:
            self._left -= count


class _Account:
    """The reserves of an account, which outlive its links: a client cannot refill them by reconnecting."""

    def __init__(self, now: float) -> None:
        self.messages = Reserve(now)
        self.bytes = Reserve(now)


class ClientRates:
    """The rate limits of all accounts of a router."""

    def __init__(self) -> None:
        self._accounts: dict[str, _Account] = {}

    def allowed(self, link: Link, now: float) -> int:
        """Return how many messages of a link may be handled now."""
        rate = link.rights.messages_per_second
        if rate is None:
            return ANY_NUMBER
        return max(0, int(self._account(link, now).messages.left(rate, now)))

    def pause(self, link: Link, now: float) -> float:
        """Count the traffic received over a link; return the seconds for which its client must be paused."""
        rights, pause = link.rights, 0.0
        if rights.messages_per_second is None and rights.bytes_per_second is None:
            return 0.0
        account, (messages, bytes) = self._account(link, now), link.counted
        self.begin(link)
        if (rate := rights.messages_per_second) is not None:
            left = account.messages.left(rate, now) - (link.counted[0] - messages)
            account.messages.use(link.counted[0] - messages)
            pause = (1.0 - left) / rate
        if (rate := rights.bytes_per_second) is not None:
            left = account.bytes.left(rate, now) - (link.counted[1] - bytes)
            account.bytes.use(link.counted[1] - bytes)
            pause = max(pause, -left / rate)
        return max(pause, _SHORTEST) if pause > 0 else 0.0

    def begin(self, link: Link) -> None:
        """Start counting from now on the traffic of a link whose rights may have changed."""
        link.counted = link.traffic.messages_received, link.traffic.received

    def _account(self, link: Link, now: float) -> _Account:
        account = self._accounts.get(link.account)
        if account is None:
            account = self._accounts[link.account] = _Account(now)
        return account
