"""Offers of the blocking client."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from cbnet.errors import CbnetError
from cbnet.network.client.async_pull import AsyncOffer
from cbnet.network.client.async_subscription import Confirmation
from cbnet.network.client.blocking.client_thread import ClientThread


class Offer:
    """An offer of a `Client`; as a context manager, it is withdrawn on exit."""

    def __init__(self, thread: ClientThread, offer: AsyncOffer) -> None:
        self._thread = thread
        self._offer = offer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.withdraw()

    @property
    def predicate(self) -> str:
        """The predicate, as text."""
        return self._offer.predicate

    @property
    def confirmation(self) -> Confirmation:
        """The routers that have the offer; complete only with `wait`."""
        return self._offer.confirmation

    @property
    def answered(self) -> int:
        """Requests answered with an item."""
        return self._offer.answered

    @property
    def failure(self) -> CbnetError | None:
        """Set if a later router refuses the offer."""
        return self._offer.failure

    def withdraw(self) -> None:
        """Stop answering requests."""
        self._thread.call(self._offer.withdraw())
