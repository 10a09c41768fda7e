"""Content: a message as it came in a frame, ready to be matched.

What its frame says is checked when the frame is read (`frames`), and not again: that would take as long as matching.
"""

from __future__ import annotations

from types import MappingProxyType

from cbnet.errors import ValueDomainError
from cbnet.language.message import Message
from cbnet.language.values import RESERVED_NAME
from cbnet.network.frames import Packet, Publish, Trace


class Content(Message):
    """The message of a frame; `members` is its JSON form, which tables match fastest."""

    __slots__ = ("members",)
    members: dict[str, object]

    def __init__(self, frame: Packet | Publish | Trace) -> None:
        attributes = frame.attributes
        if RESERVED_NAME in attributes:
            raise ValueDomainError('the name "#" is reserved for the tags of a message', hint="choose another name")
        members = {**attributes, RESERVED_NAME: frame.tags} if frame.tags else attributes
        self._set(attributes=MappingProxyType(attributes), tags=frozenset(frame.tags), members=members)
