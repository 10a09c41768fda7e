"""Durable subscriptions that have ended with their account: what is left of them is the loss to report.

    removed from the log ──► here, also on disk ──► its account returns, and creates it again: it gets the losses

They take no messages, and no place among the durable subscriptions of a router.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from msgspec.structs import replace

from cbnet.network.durable.home_log import journal
from cbnet.network.durable.home_log.journal_queue import JournalQueue
from cbnet.network.protocol.reasons import ReasonCode, Refusal

MAX_ENDED: Final = 1_000  # beyond that the oldest are forgotten


class EndedSubscription(NamedTuple):
    """A durable subscription that has ended, and its losses."""

    saved: journal.SavedSubscription
    losses: journal.SaveLosses


def end_cause(saved: journal.SavedSubscription) -> str:
    """Return why a subscription has ended."""
    return f"durable subscription {saved.name} ended, as the account {saved.account!r} did not exist any more"


class EndedSubscriptions:
    """The ended durable subscriptions of one home."""

    def __init__(self, queue: JournalQueue, found: Iterable[EndedSubscription]) -> None:
        """Initialise; found: on disk."""
        self._queue = queue
        in_order = sorted(found, key=lambda each: each.saved.ended)
        self._all = {(each.saved.account, each.saved.name): each for each in in_order}  # oldest first

    def __len__(self) -> int:
        return len(self._all)

    def add(self, saved: journal.SavedSubscription, losses: journal.SaveLosses, position: int) -> None:
        """Add a subscription that ends now, with its losses; position: where the log goes on without it."""
        ended = EndedSubscription(replace(saved, ended=self._queue.time()), losses)
        self._all[saved.account, saved.name] = ended
        self._queue.add(journal.SaveSubscription(ended.saved))
        self._queue.add(journal.SaveCursor(saved.id, (journal.Stretch(position, 1, 0),)))  # it needs nothing of the log
        if len(self._all) > MAX_ENDED:
            self.take(*next(iter(self._all)))

    def take(self, account: str, name: str) -> journal.SaveLosses | None:
        """Remove a subscription, which is created again; return its losses."""
        ended = self._all.pop((account, name), None)
        if ended is None:
            return None
        self._queue.add(journal.DropSubscription(ended.saved.id))
        return ended.losses

    def check(self, account: str, name: str) -> None:
        """Raise a `Refusal` if a client joins a subscription that has ended."""
        ended = self._all.get((account, name))
        if ended is not None:
            loss = ended.losses.pending[-1]
            raise Refusal(
                f"{loss.cause}, with {loss.messages:,} messages",
                ReasonCode.REMOVED,
                hint="give a predicate to create it again",
            )
