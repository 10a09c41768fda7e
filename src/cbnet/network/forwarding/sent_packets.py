"""Packets that were sent to neighbours, until these confirm them.

    sent ──► batch ──Ping──► unconfirmed batches ──Pong──► forgotten
                                   └── the link is gone ──► committed again, toward the routers that were behind it

A link keeps the order of its frames, so the answer to a Ping confirms all packets before it. A link may be dead for
seconds before that is noticed; what was sent meanwhile is lost unless it is kept. Most of what is sent twice reaches
other routers, and those that have it drop it as a duplicate.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import chain

from cbnet.network.link.links import LinkTable
from cbnet.network.protocol.frames import Packet

_BATCH_SIZE = 1 << 18  # bytes; then a Ping is sent at once
_PACKET_SIZE = 1 << 10  # bytes that a packet counts, in addition to its payload
_MAX_BATCHES = 64  # of a link, or 16 MB; then the oldest ones are forgotten


@dataclass
class _Session:
    """What was sent over one link and is not confirmed."""

    link: int
    batch: list[Packet] = field(default_factory=list)  # since the last Ping
    size: int = 0  # of the batch
    pinged: deque[tuple[int, list[Packet]]] = field(default_factory=lambda: deque(maxlen=_MAX_BATCHES))


class SentPackets:
    """The packets that neighbours have not confirmed, by session."""

    def __init__(self, links: LinkTable) -> None:
        self._links = links
        self._sessions: dict[int, _Session] = {}

    def add(self, session: int, link: int, packet: Packet) -> None:
        """Keep a packet that is sent over the link of a session."""
        known = self._sessions.get(session)
        if known is None:
            known = self._sessions[session] = _Session(link)
        known.batch.append(packet)
        known.size += _PACKET_SIZE + len(packet.payload)
        if known.size >= _BATCH_SIZE:
            self._ping(known)

    def ping(self) -> None:
        """Ask all neighbours to confirm what was sent; call it several times per second."""
        for session in self._sessions.values():
            if session.batch or session.pinged:
                self._ping(session)

    def _ping(self, session: _Session) -> None:
        number = self._links.ping(session.link)
        if session.batch:
            session.pinged.append((number, session.batch))
            session.batch, session.size = [], 0

    def confirm(self, session: int, number: int) -> None:
        """Forget the packets before a Ping, which was answered."""
        known = self._sessions.get(session)
        while known is not None and known.pinged and known.pinged[0][0] <= number:
            known.pinged.popleft()

    def take_lost(self, present: Collection[int]) -> list[Packet]:
        """Remove and return the packets that were sent over other sessions than those present, oldest first."""
        gone = [self._sessions.pop(session) for session in list(self._sessions) if session not in present]
        return [
            each for session in gone for each in chain(*(batch for _, batch in session.pinged), session.batch)
        ]  # fmt: skip
