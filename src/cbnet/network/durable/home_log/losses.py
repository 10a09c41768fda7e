"""Losses of a durable subscription: missing messages, until a client acknowledges that they are lost.

    added ──► on disk ──► reported to each client, before the messages that follow ──► acknowledged by one: removed

A loss is saved in the same transaction as its cause, such as the removal of messages. So a router that is killed
reports it after its restart; a second time, if the acknowledgement was not on disk.
"""

from __future__ import annotations

from msgspec.structs import replace

from cbnet.network.durable.home_log.journal import Loss, SaveLosses
from cbnet.network.durable.home_log.journal_queue import JournalQueue
from cbnet.network.protocol.fields import MAX_REASON_LENGTH

_MAX_LOSSES = 16  # not acknowledged; beyond that the oldest two are merged


class Losses:
    """The losses of one durable subscription."""

    def __init__(self, queue: JournalQueue, saved: SaveLosses) -> None:
        """Initialise with the state on disk."""
        self._queue = queue
        self._id = saved.subscription
        self.lost = saved.lost  # messages, in total
        self._pending = list(saved.pending)  # not acknowledged, in the order of numbers
        self._number = self._pending[-1].number if self._pending else 0  # of the newest one
        self._reported = 0  # number of the newest one that was reported
        self._is_saved = True
        self._is_bound = False  # whether it must be saved with the operations of this turn

    # --- lookup

    @property
    def is_reported(self) -> bool:
        """Whether all losses were sent to the clients."""
        return self._reported >= self._number

    @property
    def are_acknowledged(self) -> bool:
        """Whether clients have acknowledged all losses."""
        return not self._pending

    def saved(self) -> SaveLosses:
        """Return the losses as saved in a journal."""
        return SaveLosses(self._id, self.lost, tuple(self._pending))

    def after(self, number: int) -> list[Loss]:
        """Return the unacknowledged losses with higher numbers, and mark all losses as reported."""
        self._reported = self._number
        return [each for each in self._pending if each.number > number]

    # --- changes

    def add(self, messages: int, cause: str = "") -> None:
        """Add a loss caused by operations of this turn; messages: how many were lost, 0 if unknown."""
        self._add(messages, cause[:MAX_REASON_LENGTH])
        self._is_bound = True

    def refuse(self, cause: str = "") -> None:
        """Add the loss of a message that is not stored; it is saved in this turn, or once the disk can be written."""
        self._add(1, cause[:MAX_REASON_LENGTH])
        self._is_bound |= not self._queue.refusal

    def _add(self, messages: int, cause: str) -> None:
        self.lost += messages
        self._save_later()
        last = self._pending[-1] if self._pending else None
        if last is not None and last.number > self._reported and last.cause == cause:
            self._pending[-1] = replace(last, messages=last.messages + messages)
            return
        self._number += 1
        self._pending.append(Loss(self._number, messages, cause))
        if len(self._pending) > _MAX_LOSSES:
            self._pending[:2] = [_merged(*self._pending[:2])]

    def acknowledge(self, number: int) -> None:
        """Remove the losses up to a number, which a client has acknowledged."""
        remaining = [each for each in self._pending if each.number > number]
        if len(remaining) < len(self._pending):
            self._pending = remaining
            self._save_later()

    def check(self) -> None:
        """Save losses that could not be saved before."""
        if not self._is_saved:
            self._save_later()

    def _save_later(self) -> None:
        self._is_saved = False
        self._queue.before_submit(self._save)

    def _save(self) -> None:
        if self._is_bound or not self._queue.refusal:  # no operation per turn for a stalled journal
            self._is_saved, self._is_bound = True, False
            self._queue.add(self.saved())


def _merged(one: Loss, other: Loss) -> Loss:
    causes = [cause for cause in dict.fromkeys((one.cause, other.cause)) if cause]
    return Loss(other.number, one.messages + other.messages, "; ".join(causes)[:MAX_REASON_LENGTH])
