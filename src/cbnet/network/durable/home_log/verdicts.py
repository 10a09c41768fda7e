"""Verdicts of a home on the messages of durable publishers: which subscriptions store a message.

    refuses                                                     the message is
    a subscription of the publisher's account                   refused: stored for no subscription of this home
    one of another account that the publisher requires          refused
    others                                                      stored for the rest; the receipt counts the others

A publisher may require all subscriptions. Clients without accounts share one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from cbnet.network.durable.home_log.journal import Entry
from cbnet.network.durable.home_log.message_run import RunPart
from cbnet.network.protocol.durable_frames import MAX_REFUSING
from cbnet.network.protocol.fields import MAX_REASON_LENGTH, DurableName
from cbnet.network.protocol.frames import DurableMark, Refusals


class LogReader(Protocol):
    """A subscription of the log: a durable one, or the history of the router."""

    @property
    def id(self) -> int:
        """Its number in the journal."""

    @property
    def owner(self) -> DurableName:
        """Its account and name."""

    def refusal(self, size: int, /) -> str:
        """Return why a message cannot be stored; empty if it can."""

    def append(self, entry: Entry) -> int:
        """Add a new message of the log to the cursor; return the number of older ones dropped for it."""

    def has_room(self, messages: int, size: int, /) -> bool:
        """Return whether messages can be stored without dropping others; size: of their contents."""

    def extend(self, part: RunPart) -> None:
        """Add new messages of the log, for which there is room, to the cursor."""

    def refuse(self, size: int | None = None, /) -> None:
        """Count a message as lost: the subscription does not store it; size: if it has no room for it."""

    def deliver(self, now: float, /) -> None:
        """Send messages that are on disk while clients have room."""

    def expire(self, now: float) -> None:
        """Drop messages that are too old by the wall clock."""

    def check(self, now: float, /) -> None:
        """Do periodic work."""


class HomeVerdict(NamedTuple):
    """Which subscriptions of a home store a message."""

    taking: Sequence[LogReader] = ()
    refusing: Sequence[LogReader] = ()  # of other accounts than the publisher's
    problem: str = ""  # why it is stored for none

    @property
    def refusals(self) -> Refusals | None:
        """The refusals of subscriptions of other accounts, if there are any."""
        if not self.refusing:
            return None
        return Refusals(len(self.refusing), [each.owner for each in self.refusing[:MAX_REFUSING]])


def judge(subscriptions: Sequence[LogReader], size: int, mark: DurableMark) -> HomeVerdict:
    """Return the verdict on a message of some size for the subscriptions that match it."""
    reasons = {each.id: reason for each in subscriptions if (reason := each.refusal(size))}
    if not reasons:
        return HomeVerdict(subscriptions)
    refusing = [each for each in subscriptions if each.id in reasons]
    own = next((reasons[each.id] for each in refusing if each.owner[0] == mark.account), "")
    if own:
        return HomeVerdict(problem=own[:MAX_REASON_LENGTH])
    if mark.required is None:
        return HomeVerdict(refusing=refusing, problem=_refused_by(len(refusing)))
    required = next((each.owner for each in refusing if each.owner in mark.required), None)
    if required is not None:
        account, name = required
        return HomeVerdict(problem=f"durable subscription {name} of account {account!r} refuses it")
    return HomeVerdict([each for each in subscriptions if each.id not in reasons], refusing)


def _refused_by(count: int) -> str:
    subscriptions = "durable subscription" if count == 1 else "durable subscriptions"
    return f"{count:,} {subscriptions} of other accounts {'refuses' if count == 1 else 'refuse'} it"
