"""Errors of network clients; the tree is drawn in `cbnet.errors`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cbnet.errors import CbnetError

if TYPE_CHECKING:
    from cbnet.network.client.async_pull import AsyncOffer
    from cbnet.network.client.async_subscription import AsyncSubscription
    from cbnet.network.client.blocking_client import Offer, Subscription
    from cbnet.network.client.durable.durable_publishing import Receipt
    from cbnet.network.protocol.frames import StepField


class NetworkError(CbnetError):
    """Any failure between a client and the network."""


class NotConnected(NetworkError):  # noqa: N818
    """The client has no connection to a router."""

    def __init__(self, problem: str, *, sent: int = 0) -> None:
        super().__init__(problem)
        self.sent = sent  # messages of `publish_many` that were sent before


class NotTrusted(NetworkError):  # noqa: N818
    """One side of a connection could not authenticate the other."""


class Refused(NetworkError):  # noqa: N818
    """The router refused an operation; code: the reason, a `ReasonCode`."""

    def __init__(self, problem: str, code: int = 0) -> None:
        super().__init__(problem)
        self.code = code


class TooSlow(NetworkError):  # noqa: N818
    """A subscription ended because its messages were read too slowly."""


class NotConfirmed(NetworkError):  # noqa: N818
    """The timeout expired before every router that must know the subscription did; it stays active.

    missing: links over which it was not acknowledged, such as r1→r2, and known routers that are unreachable.
    """

    def __init__(
        self, subscription: AsyncSubscription | AsyncOffer, routers: int, missing: Sequence[str], seconds: float
    ) -> None:
        self.subscription: AsyncSubscription | AsyncOffer | Subscription | Offer = subscription
        self.routers = routers
        self.missing = list(missing)
        names = ", ".join(self.missing[:5]) + (", …" if len(self.missing) > 5 else "")
        super().__init__(
            f"not confirmed for all {routers} reachable routers within {seconds:g} s: no answer from {names}; "
            "it stays active, and messages of routers behind these links may not arrive yet"
        )


class NotStored(NetworkError):  # noqa: N818
    """A home did not answer or cannot write, or a durable subscription that must not refuse a message refuses it.

    receipts: of all messages of the call. A home that did not answer may have the message or not.
    """

    def __init__(self, receipts: Sequence[Receipt]) -> None:
        self.receipts = list(receipts)
        failed = [receipt for receipt in receipts if not receipt.is_stored]
        silent = sorted({name for receipt in failed for name in receipt.silent})
        reasons = sorted({reason for receipt in failed for reason in receipt.refused})
        parts = [*([f"no answer from {', '.join(silent[:5])}"] if silent else []), *reasons[:3]]
        what = "the message is" if len(self.receipts) == 1 else f"{len(failed):,} of {len(receipts):,} messages are"
        super().__init__(f"{what} not stored by all durable subscriptions: {'; '.join(parts)}")


class NoReply(NetworkError):  # noqa: N818
    """No holder has the requested item."""

    def __init__(self, tried: int, asked: int, steps: Sequence[StepField]) -> None:
        """Initialise with the number of routers that offered it and of their clients that were asked."""
        self.tried = tried
        self.asked = asked
        self.steps = list(steps)
        super().__init__(f"no reply: {_no_reply_reason(tried, asked)}")


class Timeout(NetworkError):  # noqa: N818
    """No reply arrived before the timeout."""

    def __init__(self, seconds: float, steps: Sequence[StepField]) -> None:
        """Initialise with the trace steps of the first router: the others did not report."""
        self.seconds = seconds
        self.steps = list(steps)
        super().__init__(f"no reply within {seconds:g} s")


def _no_reply_reason(tried: int, asked: int) -> str:
    if not tried:
        return "no client offers it"
    if not asked:
        return "it is offered, but no holder could be asked"
    return "the holder asked does not have it" if asked == 1 else f"none of the {asked} holders asked has it"
