"""Packets sent to neighbours and not yet confirmed by them.

    sent ──► batch ──Ping──► unconfirmed batches ──Pong──► discarded
                                   └── the link is gone ──► committed again, toward the routers that were behind it

A link preserves the order of its frames, so the answer to a Ping confirms all packets before it. A link may be dead for
seconds before that is noticed; packets sent meanwhile are lost unless they are kept. Most packets that are sent twice
reach other routers, and routers that have them already drop them as duplicates.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field

from cbnet._kernels.link_output import FrameBuffer
from cbnet.network.link.links import LinkTable
from cbnet.network.protocol.frames import Packet, PacketRun
from cbnet.network.protocol.wire import decode_packets, encode_body

_BATCH_SIZE = 1 << 18  # bytes; then a Ping is sent at once
_MAX_BATCHES = 64  # of a link, or 16 MB; beyond it, the oldest ones are discarded


@dataclass
class _Session:
    """The packets sent over one link and not confirmed."""

    link: int
    batch: FrameBuffer = field(default_factory=lambda: FrameBuffer(_BATCH_SIZE, _BATCH_SIZE))  # since the last Ping
    pinged: deque[tuple[int, bytes]] = field(default_factory=lambda: deque(maxlen=_MAX_BATCHES))


class UnconfirmedPackets:
    """The packets that neighbours have not confirmed, by session."""

    def __init__(self, links: LinkTable) -> None:
        self._links = links
        self._sessions: dict[int, _Session] = {}

    def add(self, session: int, link: int, packet: Packet | PacketRun) -> None:
        """Keep a packet, or a run of them, that is sent over the link of a session."""
        known = self._session(session, link)
        known.batch.add_body(encode_body(packet))
        if known.batch.ready >= _BATCH_SIZE:
            self._ping(known)

    def batch(self, session: int, link: int) -> FrameBuffer:
        """Return the batch of a session, to which packets may be added as bytes while the link is open."""
        return self._session(session, link).batch

    def _session(self, session: int, link: int) -> _Session:
        known = self._sessions.get(session)
        if known is None:
            known = self._sessions[session] = _Session(link)
        return known

    def ping_full(self) -> None:
        """Ask the neighbours with a full batch to confirm it."""
        for session in self._sessions.values():
            if session.batch.ready >= _BATCH_SIZE:
                self._ping(session)

    def ping(self) -> None:
        """Ask all neighbours to confirm the packets sent to them; call it several times per second."""
        for session in self._sessions.values():
            if session.pinged:
                self._links.ping(session.link)  # again: a Ping may be omitted while many packets are queued
            elif session.batch.ready:
                self._ping(session)

    def _ping(self, session: _Session) -> None:
        number = self._links.ping(session.link)
        if session.batch.ready:
            session.pinged.append((number, session.batch.take()))

    def confirm(self, session: int, number: int) -> None:
        """Discard the packets sent before a Ping that was answered."""
        known = self._sessions.get(session)
        while known is not None and known.pinged and known.pinged[0][0] <= number:
            known.pinged.popleft()

    def take_lost(self, present: Collection[int]) -> list[Packet]:
        """Remove and return the packets that were sent over sessions not in `present`, oldest first."""
        lost: list[Packet] = []
        for session, known in [each for each in self._sessions.items() if each[0] not in present]:
            for data in (*(data for _, data in known.pinged), known.batch.take()):
                lost += decode_packets(data)
            known.pinged.clear()
            if self._links.get(known.link) is None:
                del self._sessions[session]
        return lost
