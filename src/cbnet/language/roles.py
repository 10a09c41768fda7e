"""Roles of messages and predicates in push and pull [2014 §2].

    push    notification N ──► subscription S     N matches S     N ⊇ S, if they are sets of tags
    pull    request R      ──► offer O            R matches O     R ⊇ O
            reply D        ──► request R          D matches R     D ⊇ R

Subscriptions and offers are predicates that a node registers; the other three are messages. A request is both a
message and a filter: it holds tags and equality constraints only, so it is the message with those values, and the
filter that replies must match. Hence a reply to a request matches every offer that the request matches, unless the
offer accepts that an attribute or tag is absent, which the reply may add.
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
    """The role of a message."""

    NOTIFICATION = "notification"
    REQUEST = "request"
    REPLY = "reply"


_EMPTY = Predicate()


@dataclass(frozen=True)
class Registration:
    """The predicates registered by one or more nodes. A forwarding table holds both."""

    subscriptions: Predicate = _EMPTY
    offers: Predicate = _EMPTY

    def predicate_for(self, kind: MessageKind) -> Predicate:
        """Return the predicate for messages of a kind: the empty one for replies, which follow their request."""
        return {MessageKind.NOTIFICATION: self.subscriptions, MessageKind.REQUEST: self.offers}.get(kind, _EMPTY)

    def matches(self, message: Message, kind: MessageKind) -> bool:
        """Return whether a message of this kind matches."""
        return self.predicate_for(kind).matches(message)


def request_of(filter: Filter) -> Message:
    """Return the message of a request, a filter of tags and equality constraints."""
    for part in (*filter.conditions, *filter.constraints):
        if not isinstance(part, Constraint) or part.op is not Op.EQ:
            raise InputError(f"a request cannot contain `{part}`", hint="use `=` and tags only")
    values = {constraint.name: constraint.value for constraint in filter.constraints}
    if len(values) < len(filter.constraints):
        raise InputError(f"no reply can match `{filter}`", hint="use one value per attribute")
    return Message(values, filter.tags)


def filter_of(request: Message) -> Filter:
    """Return the filter that replies to a request must match; each attribute of a request has one value."""
    for name, (leaf, *others) in request.leaves.items():
        if others or leaf.element:
            hint = "send one request for each value"
            raise InputError(f"a request has one value per attribute, and {name!r} is in a list", hint=hint)
    return Filter((Constraint(name, Op.EQ, leaf.value) for name, (leaf,) in request.leaves.items()), request.tags)


def answers(reply: Message, request: Message) -> bool:
    """Return whether a reply matches a request."""
    return filter_of(request).matches(reply)
