"""Actions of a router: the frames to send and the links to close in response to an event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from cbnet.network.protocol.frames import Frame
from cbnet.network.protocol.reasons import ReasonCode


class Send(NamedTuple):
    """Send a frame over a link."""

    link: int
    frame: Frame


class Shut(NamedTuple):
    """Send a `Close` with the reason, then close the connection. The router has already removed the link."""

    link: int
    reason: str
    code: ReasonCode


Action: TypeAlias = Send | Shut


class Outbox:
    """Actions collected while an event is handled, in order."""

    def __init__(self) -> None:
        self._actions: list[Action] = []

    def send(self, link: int, frame: Frame) -> None:
        """Add a frame for a link."""
        self._actions.append(Send(link, frame))

    def send_all(self, links: Iterable[int], frame: Frame) -> None:
        """Add a frame for each of several links."""
        self._actions.extend([Send(link, frame) for link in links])

    def shut(self, link: int, reason: str, code: ReasonCode) -> None:
        """Close a link."""
        self._actions.append(Shut(link, reason, code))

    def take(self) -> list[Action]:
        """Remove and return the actions."""
        taken, self._actions = self._actions, []
        return taken
