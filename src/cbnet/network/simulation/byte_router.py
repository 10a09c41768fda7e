"""A router whose links carry bytes, as over TCP but without sockets: for simulations and tests of the fast path.

bytes of a link ─► plain messages: the fast path ─┬─► bytes for links, in order
               └─► other frames: decoded ─────────┘
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cbnet._kernels.fast_path import LATE, PYTHON
from cbnet.network.link.context import Action, Send
from cbnet.network.protocol.frames import Close, Frame
from cbnet.network.protocol.wire import Data, FrameReader, WireError, encode
from cbnet.network.router.router import Router


class Sent(NamedTuple):
    """Bytes that a router sends over a link."""

    link: int
    data: bytes
    is_last: bool = False  # whether the router closes the link


class ByteRouter:
    """A router whose links carry bytes."""

    def __init__(self, router: Router, *, is_fast: bool = True) -> None:
        """Initialise; is_fast: whether plain messages take the fast path."""
        self.router = router
        self._is_fast = is_fast
        self._readers: dict[int, FrameReader] = {}
        self.handled = 0  # bytes that took the fast path

    def opened(self, link: int, now: float) -> list[Sent]:
        """Handle a new connection."""
        self._readers[link] = FrameReader()
        return self.performed(self.router.opened(link, now))

    def received(self, link: int, data: Data, now: float) -> list[Sent]:
        """Handle bytes received over a connection."""
        sent: list[Sent] = []
        reader = self._readers.get(link)
        if reader is None:
            return sent
        joined, at = reader.join(data), 0
        try:
            while link in self._readers:
                outcome = PYTHON
                if self._is_fast:
                    progress = self.router.forward(link, joined, at, len(joined), now)
                    self.handled += progress.end - at
                    sent += map(self._written, progress.written)
                    sent += self.performed(progress.actions)
                    at, outcome = progress.end, progress.outcome
                end = reader.end_of(joined, at) if outcome == PYTHON else at
                if end > at:
                    frame = reader.read(joined, at, end)
                    at = end
                    sent += self._handle(link, [] if frame is None else [frame], now)
                    if at == len(joined) and not self._is_fast:
                        break
                elif outcome != LATE:
                    break
        except WireError as error:
            sent += self.performed(self.router.failed(link, error.reason, error.code, now))
        reader.keep(joined, at)
        return sent

    def closed(self, link: int, now: float) -> list[Sent]:
        """Handle a connection that the peer closed."""
        self._readers.pop(link, None)
        return self.performed(self.router.closed(link, now))

    def performed(self, actions: Iterable[Action]) -> list[Sent]:
        """Return the bytes that the router's actions send."""
        sent: list[Sent] = []
        for action in actions:
            if action.link not in self._readers:
                continue
            if isinstance(action, Send):
                sent.append(Sent(action.link, encode(action.frame, self._readers[action.link].version)))
            else:
                close = encode(Close(action.reason, action.code), self._readers[action.link].version)
                del self._readers[action.link]
                sent.append(Sent(action.link, close, is_last=True))
        return sent

    def _handle(self, link: int, frames: list[Frame], now: float) -> list[Sent]:
        """Handle frames, each step of one that takes long in a turn of its own."""
        sent: list[Sent] = []
        actions = self.router.received_all(link, frames, now, in_steps=True)
        while True:
            if actions:
                sent += self.performed(actions)
            known = self.router.links.get(link)
            if known is None or known.steps is None:
                return sent
            actions = self.router.received_all(link, [], now, in_steps=True)

    def _written(self, number: int) -> Sent:
        link = self.router.links.get(number)
        assert link is not None
        return Sent(number, link.output.take())
