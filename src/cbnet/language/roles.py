"""Roles: what is a message or a predicate there for, and which of them fit together? [2014 §2]

    push    notification N ──► subscription S     N matches S     N ⊇ S, if they are sets of tags
    pull    request R      ──► offer O            R matches O     R ⊇ O
            reply D        ──► request R          D matches R     D ⊇ R

Subscriptions and offers are predicates that a node registers; the other three are messages. A request is both: it
holds tags and equality constraints only, so it is the message that has those values, and as a filter it says what
a reply must have. Hence a reply to a request matches every offer that the request matches.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from cbnet.errors import InputError
from cbnet.language.constraint import Constraint, Op
from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.language.predicate import Predicate


class MessageKind(Enum):
    """What a message is sent for."""

    NOTIFICATION = "notification"
    REQUEST = "request"
    REPLY = "reply"


_NOTHING = Predicate()


@dataclass(frozen=True)
class Registration:
    """What a node has registered, or several nodes together. Both stand in one forwarding table."""

    subscriptions: Predicate = _NOTHING
    offers: Predicate = _NOTHING

    def predicate_for(self, kind: MessageKind) -> Predicate:
        """Return the predicate that a message of this kind is matched with; none for a reply, which has its request."""
        return {MessageKind.NOTIFICATION: self.subscriptions, MessageKind.REQUEST: self.offers}.get(kind, _NOTHING)

    def matches(self, message: Message, kind: MessageKind) -> bool:
        """Return whether a message of this kind is for the node."""
        return self.predicate_for(kind).matches(message)


def request_of(filter: Filter) -> Message:
    """Return the request that a filter of tags and equality constraints is, as a message."""
    values = {constraint.name: constraint.value for constraint in filter.constraints}
    for constraint in filter.constraints:
        if constraint.op is not Op.EQ:
            raise InputError(f"a request cannot hold `{constraint}`", hint="use `=` and tags only")
    if len(values) < len(filter.constraints):
        raise InputError(f"no reply can match `{filter}`", hint="give each attribute one value")
    return Message({name: value for name, value in values.items() if value is not None}, filter.tags)


def filter_of(request: Message) -> Filter:
    """Return the filter that a request is: what its replies must have."""
    return Filter((Constraint(name, Op.EQ, value) for name, value in request.attributes.items()), request.tags)


def answers(reply: Message, request: Message) -> bool:
    """Return whether a reply matches a request."""
    return filter_of(request).matches(reply)
