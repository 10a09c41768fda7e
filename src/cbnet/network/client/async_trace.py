"""Traces of messages: the steps of all routers that a message reaches."""

from __future__ import annotations

from typing import NamedTuple

from cbnet.network.client.client_link import ClientLink
from cbnet.network.protocol import frames
from cbnet.network.protocol.frames import Hop


class Traced(NamedTuple):
    """The trace of a message."""

    hops: list[Hop]
    missing: list[str]  # routers that the message was sent to but that did not report


class ClientTraces:
    """The open traces of one client."""

    def __init__(self, link: ClientLink) -> None:
        self._link = link
        self._hops: dict[int, list[Hop]] = {}  # by the number of the message

    async def run(self, number: int, data: bytes, timeout: float) -> Traced:
        """Send an encoded `Trace`, and return the trace when it ends."""
        self._hops[number] = []
        try:
            end: frames.TraceEnd = await self._link.call(
                frames.Trace, number, lambda: self._link.send_bytes(data), timeout
            )
            return Traced(self._hops[number], end.missing)
        finally:
            del self._hops[number]

    def add(self, frame: frames.TracedFrame) -> None:
        """Add the step of a router."""
        self._hops.get(frame.number, []).append(frame.hop)
