"""Errors between a client and the network; drawn in `cbnet.errors`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cbnet.errors import CbnetError

if TYPE_CHECKING:
    from cbnet.network.client.async_pull import AsyncOffer
    from cbnet.network.client.async_subscription import AsyncSubscription
    from cbnet.network.protocol.frames import Step


class NetworkError(CbnetError):
    """Something went wrong between a client and the network."""


class NotConnected(NetworkError):  # noqa: N818
    """There is no connection to a router."""


class NotTrusted(NetworkError):  # noqa: N818
    """One side of a connection does not trust the other."""


class Refused(NetworkError):  # noqa: N818
    """The router has refused a request."""


class TooSlow(NetworkError):  # noqa: N818
    """A subscription has ended because its messages were taken too slowly."""


class NotConfirmed(NetworkError):  # noqa: N818
    """The time was up before every router that can be reached had the subscription. It goes on nevertheless."""

    def __init__(
        self, subscription: AsyncSubscription | AsyncOffer, routers: int, missing: Sequence[str], seconds: float
    ) -> None:
        """Take the subscription, or the offer: it is the same with that."""
        self.subscription = subscription
        self.routers = routers
        self.missing = list(missing)
        named = ", ".join(self.missing[:5]) + (", …" if len(self.missing) > 5 else "")
        super().__init__(f"after {seconds:g} s {routers} routers know of it; missing: {named or 'unknown'}")


class NoReply(NetworkError):  # noqa: N818
    """Nobody who was asked has what was requested."""

    def __init__(self, tried: int, asked: int, steps: Sequence[Step]) -> None:
        """Take how many routers offered it, and how many of their clients were asked."""
        self.tried = tried
        self.asked = asked
        self.steps = list(steps)
        super().__init__(_why_no_reply(tried, asked))


class Timeout(NetworkError):  # noqa: N818
    """No reply came in time."""

    def __init__(self, seconds: float, steps: Sequence[Step]) -> None:
        """Take what the first router did: of the others nothing was heard."""
        self.seconds = seconds
        self.steps = list(steps)
        super().__init__(f"no reply came in {seconds:g} s")


def _why_no_reply(tried: int, asked: int) -> str:
    if not tried:
        return "no reply: nobody offers it"
    if not asked:
        return "no reply: it was offered, and nobody could be asked"
    who = "the holder that was asked has not" if asked == 1 else f"none of the {asked} holders that were asked has"
    return f"no reply: {who} got it"
