"""Reason codes: why a router refuses a frame or closes a link.

Peers act on the number; the text beside it is for people, and may change. An unknown number, from a newer peer, has no
special meaning.
"""

from __future__ import annotations

from enum import IntEnum

from cbnet.errors import InputError, LimitError
from cbnet.network.protocol.control_frames import RefusedFrame
from cbnet.network.protocol.fields import MAX_REASON_LENGTH


class ReasonCode(IntEnum):
    """Why a frame is refused, or a link closed."""

    OTHER = 0

    # refusal of a frame
    INVALID = 1  # the frame states something that is not valid
    DENIED = 2  # the rights of the client do not allow it
    LIMIT = 3  # a limit of the router, or a quota of the client, is exceeded
    UNKNOWN = 4  # what the frame names does not exist
    OTHER_HOME = 5  # the durable subscription has another home
    OTHER_HISTORY = 6  # the offset belongs to the history of another router
    NO_HISTORY = 7  # the router keeps no history
    REMOVED = 8  # the durable subscription was removed
    NO_ANSWER = 9  # another router did not answer in time
    UNWRITABLE = 10  # the journal cannot be written now

    # closing of a link
    PROTOCOL = 20  # the peer has violated the protocol
    VERSION = 21  # no common protocol version
    OTHER_NETWORK = 22  # the peer belongs to another network
    NAME = 23  # the name of the peer is in use
    SCHEME = 24  # the peer uses another routing scheme
    SLOW = 25  # the peer reads too slowly
    SILENT = 26  # nothing was received for too long, or announcements are missing
    REPLACED = 27  # newer links to the same peer replace it
    STOPPING = 28  # the router, or the client, stops


class Refusal(InputError):  # noqa: N818
    """Something that a router refuses to do, with the reason as a code."""

    code = ReasonCode.INVALID

    def __init__(
        self, problem: str, code: ReasonCode | None = None, *, hint: str | None = None, address: str = ""
    ) -> None:
        """Initialise; address: where the home of a durable subscription is."""
        super().__init__(problem, hint=hint)
        self.address = address
        if code is not None:
            self.code = code


def refusal_code(error: InputError) -> ReasonCode:
    """Return the code of an error for which a frame is refused."""
    if isinstance(error, Refusal):
        return error.code
    return ReasonCode.LIMIT if isinstance(error, LimitError) else ReasonCode.INVALID


def refused(frame: int, number: int, error: InputError) -> RefusedFrame:
    """Return the refusal of a frame, by the number of its kind and its own id or number."""
    address = error.address if isinstance(error, Refusal) else ""
    return RefusedFrame(frame, number, error.summary[:MAX_REASON_LENGTH], refusal_code(error), address)
