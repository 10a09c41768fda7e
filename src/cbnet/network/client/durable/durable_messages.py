"""Messages of durable subscriptions that an operator looks at, moves and removes, page by page.

Predicates are tested here, so that a router searches for nobody. A call concerns the messages that are stored when it
begins: it ends even if others arrive meanwhile.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import InitVar, dataclass, field
from typing import Any, Final, TypeAlias

from cbnet._kernels.delivery import Delivery
from cbnet.errors import InputError
from cbnet.language.relations.covering import PredicateLike, as_predicate
from cbnet.network.client.async_subscription import decoded_content
from cbnet.network.errors import Refused
from cbnet.network.protocol.fields import MAX_ENTRIES, MAX_INT
from cbnet.network.protocol.frames import DurableMove, DurablePeek, DurablePurge, DurableTaken, StoredField

Query: TypeAlias = Callable[..., Awaitable[Any]]  # sends a frame: its kind, and its members after the number
_NO_RANGE: Final = (0, 0, 0)


class PeekedMessage(Delivery):
    """A message that a durable subscription keeps."""

    def __init__(self, field: StoredField) -> None:
        message, payload = decoded_content(field.content)
        super().__init__(message, payload, field.source, (field.source, field.incarnation, field.number))
        self.offset = field.offset
        self.deliveries = field.deliveries  # how often it was sent since the router started
        self.time = field.time  # when it was stored, in seconds since 1970


@dataclass
class MessageSelection:
    """Messages of a durable subscription, as far as they were not handled yet."""

    name: str
    account: str | None  # None: that of the client
    wanted: InitVar[PredicateLike]  # "": all messages
    next: int  # offset from which on; 0: none are left
    room: int | None  # maximum number of messages; None: no maximum
    end: int = field(default=0, init=False)  # offset up to which, exclusive; 0: not known yet

    def __post_init__(self, wanted: PredicateLike) -> None:
        for what, value in (("offset", self.next), ("count", self.room)):
            if value is not None and not 1 <= value <= MAX_INT:
                raise InputError(f"invalid {what} {value!r}", hint="use a number from 1 on")
        self.predicate = None if wanted == "" else as_predicate(wanted)

    @property
    def is_done(self) -> bool:
        """Whether there are no further messages to handle."""
        return not self.next or self.room == 0

    def handled(self, messages: int) -> None:
        """Count messages that were handled."""
        if self.room is not None:
            self.room -= messages

    async def page(self, query: Query) -> list[PeekedMessage]:
        """Return the next messages, perhaps none of a page."""
        most = MAX_ENTRIES if self.predicate is not None or self.room is None else min(MAX_ENTRIES, self.room)
        answer = await query(DurablePeek, self.name, self.next, self.end, most, self.account)
        self.next, self.end = answer.next, answer.end
        found = [PeekedMessage(each) for each in answer.messages]
        return [each for each in found if self.predicate is None or self.predicate.matches(each.message)][: self.room]


async def peek(query: Query, chosen: MessageSelection) -> list[PeekedMessage]:
    """Return messages of a durable subscription."""
    found: list[PeekedMessage] = []
    while not chosen.is_done:
        page = await chosen.page(query)
        chosen.handled(len(page))
        found += page
    return found


async def take(query: Query, kind: type[DurableMove | DurablePurge], chosen: MessageSelection, *to: str) -> int:
    """Move or remove messages; return their number."""
    taken = 0

    async def ask(offsets: list[int], *range: int) -> DurableTaken:
        nonlocal taken
        answer: DurableTaken = await query(kind, chosen.name, *to, offsets, *range, chosen.account)
        taken += answer.messages
        chosen.handled(answer.messages)
        if answer.problem:
            raise Refused(f"{answer.problem}; {taken:,} messages were moved")
        return answer

    while not chosen.is_done:
        if chosen.predicate is None:
            answer = await ask([], chosen.next, chosen.end, chosen.room or 0)
            chosen.next, chosen.end = answer.next, answer.end
            continue
        offsets = [each.offset for each in await chosen.page(query)]
        while offsets:
            following = (await ask(offsets, *_NO_RANGE)).next
            offsets = [each for each in offsets if following and each >= following]
    return taken
