"""Limits on the durable publishers of each account, so that no account uses up the capacity of a home.

A client draws a new publisher number each time it starts. A home knows a limited number of publishers, whatever their
accounts; so a router lets the clients of one account use only a share of them in the time for which a home knows them.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from cbnet.network.durable.storing.publisher_windows import MAX_PUBLISHERS, PUBLISHER_AGE
from cbnet.network.link.context import RouterContext
from cbnet.network.security.rights import Denied

MAX_ACCOUNT_PUBLISHERS: Final = MAX_PUBLISHERS // 10


class AccountPublishers:
    """The publishers that the clients of one router use."""

    def __init__(self, context: RouterContext) -> None:
        self._context = context
        self._used: dict[str, OrderedDict[int, float]] = {}  # by account: time of the last message; oldest first

    def check(self, account: str, publisher: int) -> None:
        """Record a message of a publisher; raise `Denied` if its account has too many others."""
        now, used = self._context.now, self._used.setdefault(account, OrderedDict())
        while used and now - next(iter(used.values())) >= PUBLISHER_AGE:
            used.popitem(last=False)
        if publisher not in used and len(used) >= MAX_ACCOUNT_PUBLISHERS:
            raise Denied(
                f"your clients are too many durable publishers: {len(used):,} in {PUBLISHER_AGE:,.0f} s",
                hint="publish several messages over one client",
            )
        used[publisher] = now
        used.move_to_end(publisher)
