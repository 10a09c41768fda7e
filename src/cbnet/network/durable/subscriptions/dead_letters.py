"""Dead letters: messages that were delivered too often, in the durable subscription that is named for them.

A message that would be sent once more than `max_deliveries` is removed from its subscription, and added to the log for
the other one, in the same transaction; its attribute `dead_letter` names where it comes from, and why. If there is no
room for it, or if the subscription named does not exist any more, it stays, and is sent again: nothing is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from cbnet.errors import InputError
from cbnet.network.durable.home_log.journal import Entry
from cbnet.network.durable.home_log.journal_queue import JournalQueue
from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import Event
from cbnet.network.protocol.durable_frames import MAX_CONTENT_BYTES, DurableLimits
from cbnet.network.protocol.fields import DurableName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cbnet.network.durable.subscriptions.durable_subscription import DurableSubscription

ATTRIBUTE: Final = "dead_letter"
_REASON: Final = "not acknowledged within max_deliveries"
_decode = msgspec.msgpack.Decoder(tuple[dict[str, Any], list[str], bytes]).decode
_encode = msgspec.msgpack.Encoder().encode
Subscriptions: TypeAlias = "Mapping[DurableName, DurableSubscription]"


class DeadLetters:
    """The dead letters of all durable subscriptions of one home."""

    def __init__(self, context: RouterContext, queue: JournalQueue, subscriptions: Subscriptions) -> None:
        self._context = context
        self._queue = queue
        self._subscriptions = subscriptions

    def check(self, account: str, name: str, limits: DurableLimits) -> None:
        """Raise an `InputError` unless the dead letters of a subscription may get to the one that its limits name."""
        limits.check_dead_letter()
        seen, following = [name], limits.dead_letter
        while following:
            if following in seen:
                circle = " to ".join([*seen, following])
                raise InputError(f"dead letters would go in a circle, from {circle}", hint="name another subscription")
            target = self._subscriptions.get((account, following))
            if target is None:
                hint = "create it first, for instance with the predicate false"
                raise InputError(f"there is no durable subscription {following!r} for dead letters", hint=hint)
            seen.append(following)
            following = target.saved.limits.dead_letter

    def take(self, source: DurableSubscription, offset: int, deliveries: int, entry: Entry) -> bool:
        """Move a message to the dead letters of its subscription; return False, and log why, if that is impossible."""
        saved = source.saved
        content = _marked(saved.name, offset, deliveries, entry.content)
        target = self._subscriptions.get((saved.account, saved.limits.dead_letter))
        if target is None:
            problem = f"there is no durable subscription {saved.limits.dead_letter} any more"
        else:
            problem = self._queue.refusal or target.refusal_of_copy(len(content))
        if target is None or problem:
            self._context.warn(
                "dead letters not stored", subscription=saved.name, account=saved.account, reason=problem
            )
            return False
        source.remove([offset])
        target.add_copy(entry, content)
        self._context.counters[Event.DEAD_LETTERS] += 1
        return True


def _marked(name: str, offset: int, deliveries: int, content: bytes) -> bytes:
    """Return the content of a message as a dead letter; unchanged if it is too long then."""
    attributes, tags, payload = _decode(content)
    mark = {"subscription": name, "offset": offset, "deliveries": deliveries, "reason": _REASON}
    attributes[ATTRIBUTE] = mark
    marked = _encode((attributes, tags, payload))
    return marked if len(marked) <= MAX_CONTENT_BYTES else content


def without_mark(content: bytes) -> bytes:
    """Return the content of a message that is no dead letter any more."""
    attributes, tags, payload = _decode(content)
    return content if attributes.pop(ATTRIBUTE, None) is None else _encode((attributes, tags, payload))
