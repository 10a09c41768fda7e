"""Failures: what can go wrong between a client and the network? Each is a `CbnetError`.

NetworkError
├── NotConnected          no router could be reached in time, or the connection ended before the answer came
├── NotConfirmed          not every router that can be reached has the subscription in time
├── Refused               the router does not do what was asked for, and says why
└── TooSlow               messages came faster than they were taken, and that was to end the subscription
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cbnet.errors import CbnetError

if TYPE_CHECKING:
    from cbnet.network.async_subscription import AsyncSubscription


class NetworkError(CbnetError):
    """Something went wrong between a client and the network."""


class NotConnected(NetworkError):  # noqa: N818
    """There is no connection to a router."""


class Refused(NetworkError):  # noqa: N818
    """The router has refused a request."""


class TooSlow(NetworkError):  # noqa: N818
    """A subscription has ended because its messages were taken too slowly."""


class NotConfirmed(NetworkError):  # noqa: N818
    """The time was up before every router that can be reached had the subscription. It goes on nevertheless."""

    def __init__(self, subscription: AsyncSubscription, routers: int, missing: Sequence[str], seconds: float) -> None:
        self.subscription = subscription
        self.routers = routers
        self.missing = list(missing)
        named = ", ".join(self.missing[:5]) + (", …" if len(self.missing) > 5 else "")
        super().__init__(f"after {seconds:g} s {routers} routers have the subscription; missing: {named or 'unknown'}")
