"""Base class of all frames, the registry of their numbers, and their JSON form.

A frame is an array whose first member is its number. The types of the other members (`fields`) are checked while the
frame is decoded, so that nothing behind `wire` sees a list that is too long or a number out of range.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import msgspec

from cbnet.network.protocol.fields import Part


class FrameNumber(IntEnum):
    """The first member of each frame."""

    HELLO = 1
    PING = 2
    PONG = 3
    CLOSE = 4

    # between routers
    LINK_RECORD = 5
    ANNOUNCE = 6
    ANNOUNCE_ACK = 7
    RECORD_SUMMARY = 8
    RECORD_REQUEST = 9
    PACKET = 10
    HELD = 11
    CREDIT = 12
    TRACE_REPORT = 13
    REQUEST = 14
    REPLY = 15
    NO_ITEM = 16
    INQUIRY = 17
    INQUIRY_REPORT = 18

    # client to router
    SUBSCRIBE = 20
    UNSUBSCRIBE = 21
    PUBLISH = 22
    TRACE = 23
    SLOW_POLICY = 24
    STATUS_REQUEST = 25
    OFFER = 26
    WITHDRAW = 27
    PULL = 28
    ANSWER = 29

    # router to client
    SUBSCRIBED = 30
    UNSUBSCRIBED = 31
    PUBLISHED = 32
    TRACED = 33
    TRACE_END = 34
    REFUSED = 35
    DELIVER = 36
    LOST = 37
    STATUS = 38
    OFFERED = 40
    WITHDRAWN = 41
    HOLDER_REQUEST = 42
    PULL_REPLY = 43
    PULL_FAILURE = 44

    # a client that inspects tables
    TABLE_REQUEST = 50
    FILTER_REQUEST = 51
    TABLE_SUMMARY = 52
    FILTER_PAGE = 53

    # a client that operates a router
    RELOAD = 54
    RELOADED = 55

    # a client that asks who wants what
    SUBSCRIPTION_REQUEST = 56
    SUBSCRIPTION_LIST = 57

    # durable subscriptions: between routers
    HOME_RECORD = 60
    HOME_SUMMARY = 61
    HOME_REQUEST = 62
    HOME_ACK = 63
    STORED = 64

    # client to router
    DURABLE_SUBSCRIBE = 70
    ACKNOWLEDGE = 71
    DURABLE_PUBLISH = 72
    DURABLE_QUERY = 73
    DURABLE_REMOVE = 74
    FORGET_HOME = 75
    REPLAY = 76
    DURABLE_LIMIT = 77

    # router to client
    DURABLE_DELIVER = 80
    DURABLE_PUBLISHED = 81
    DURABLE_REPORT = 82
    DURABLE_REMOVED = 83
    DURABLE_LOST = 84
    REPLAYING = 85
    DURABLE_LIMITED = 86


class FrameBase(Part, tag=True):
    """An array that begins with the number of its frame."""


def json_of(value: Any) -> Any:
    """Return a frame, or any part of one, with objects in place of structs."""
    if isinstance(value, msgspec.Struct):
        return {name: json_of(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {key: json_of(each) for key, each in value.items()}
    if isinstance(value, list):
        return [json_of(each) for each in value]
    return value
