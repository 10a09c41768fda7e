"""Verdicts of a home on the messages of durable publishers: which subscriptions store a message.

    refuses                                                     the message is
    a subscription of the publisher's account                   refused: stored for no subscription of this home
    one of another account that the publisher requires          refused
    others                                                      stored for the rest; the receipt counts the others

A publisher may require all subscriptions. Clients without accounts share one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from cbnet.network.protocol.durable_frames import MAX_REFUSING
from cbnet.network.protocol.fields import MAX_REASON_LENGTH
from cbnet.network.protocol.frames import DurableMark, Refusals

if TYPE_CHECKING:
    from cbnet.network.durable.histories.history import History
    from cbnet.network.durable.subscriptions.durable_subscription import DurableSubscription


LogReader: TypeAlias = "DurableSubscription | History"  # a subscription of the log


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
