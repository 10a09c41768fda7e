"""Framing: frames as length-prefixed MessagePack.

    ┌────────────┬─────────────────────────┐
    │ length n   │ MessagePack, n bytes    │   length: 4 bytes, big-endian
    └────────────┴─────────────────────────┘

The first frame must be a `Hello`; its role determines the maximum length of the others. Any error in the bytes raises a
`WireError`, whose text is the reason to close the link.

A router may forward a frame slightly longer than it received it: with a longer name in the header, and floats of 32
bits as 64. So that no router is blamed for another's frame, packets must end well below the limit of frames: a longer
one is skipped and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from struct import Struct
from typing import Any, Final, TypeAlias, Union

import msgspec

from cbnet.errors import CbnetError, InputError
from cbnet.network.protocol import frames
from cbnet.network.protocol.content import check_nested
from cbnet.network.protocol.fields import MAX_REASON_LENGTH, Part
from cbnet.network.protocol.frames import FRAMES, Answer, Frame, Hello, Packet, PacketRun, ReplyFrame, frame_number
from cbnet.network.protocol.reasons import ReasonCode

VERSION = 5  # of the protocol
OLDEST_CLIENT = 4  # that routers serve
LENGTH_BYTES = 4
MAX_HELLO_BYTES = 1 << 11
MAX_CLIENT_FRAME_BYTES = 1 << 20
MAX_ROUTER_FRAME_BYTES = 1 << 22
MAX_PACKET_BYTES = 5 << 19  # above the maximum of a client's message with a header

# Members at the end of a frame, or of a part of one, that clients of version 4 do not know.
_ADDED: Final[Mapping[type[Part], int]] = {
    frames.RefusedFrame: 2, frames.Close: 1, frames.DurableReport: 5, frames.DurableField: 2,
    frames.DurableRemoved: 1, frames.DurableLimited: 0, frames.DurableLimits: 2, frames.DurablePublished: 1,
    frames.SubscriptionList: 0, frames.SubscriptionField: 1, frames.TracedFrame: 0, frames.Hop: 1,
}  # fmt: skip
_TLS = 0x1603  # first bytes of TLS
_HTTP = (b"GET ", b"HEAD", b"POST")  # first bytes of HTTP
_MESSAGE_FRAMES: Final[frozenset[type[Frame]]] = frozenset({
    Packet, frames.Publish, frames.DurablePublish, frames.Deliver, frames.Trace, ReplyFrame, frames.PullReply,
})  # fmt: skip
_length = Struct(">I")
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Union[FRAMES])  # noqa: UP007  # a tuple
_packet_decoder = msgspec.msgpack.Decoder(Packet | PacketRun)
Data: TypeAlias = bytes | bytearray | memoryview


class WireError(CbnetError):
    """A violation of the protocol; the link must be closed with this reason."""

    def __init__(self, reason: str, code: ReasonCode = ReasonCode.PROTOCOL) -> None:
        self.reason = reason[:MAX_REASON_LENGTH]
        self.code = code
        super().__init__(self.reason)


def encode(frame: Frame, version: int = VERSION) -> bytes:
    """Encode a frame for a peer of some version."""
    body = encode_body(frame, version)
    return len(body).to_bytes(LENGTH_BYTES) + body


def encode_body(frame: Frame, version: int = VERSION) -> bytes:
    """Encode a frame without its length."""
    if version <= OLDEST_CLIENT and type(frame) in _ADDED:
        return _encoder.encode(_reduced(frame))
    return _encoder.encode(frame)


def _reduced(value: Any) -> Any:
    """Return a frame, or a part of one, without the members that clients of version 4 do not know."""
    if isinstance(value, list):
        return [_reduced(each) for each in value]
    if not isinstance(value, Part):
        return value
    names = value.__struct_fields__
    members = [_reduced(getattr(value, name)) for name in names[: len(names) - _ADDED.get(type(value), 0)]]
    return [frame_number(type(value)), *members] if isinstance(value, Frame) else members


def decode_packets(data: bytes) -> list[Packet]:
    """Decode packets that were encoded here."""
    packets: list[Packet] = []
    start, view = 0, memoryview(data)
    while start < len(data):
        (length,) = _length.unpack_from(data, start)
        packet = _packet_decoder.decode(view[start + LENGTH_BYTES : start + LENGTH_BYTES + length])
        packets.extend([packet] if isinstance(packet, Packet) else packet.packets())
        start += LENGTH_BYTES + length
    return packets


class FrameReader:
    """Decodes the frames of one link from bytes in chunks of any size."""

    def __init__(self) -> None:
        self._rest = bytearray()  # not read yet
        self._needed = 0  # bytes of an incomplete frame, as far as known
        self.max_length = MAX_HELLO_BYTES  # of a frame
        self.is_first = True  # whether no frame was read yet
        self.version = VERSION  # that the peer understands
        self.skipped = 0  # packets that were too long
        self.has_nested = False  # whether any message was nested

    def feed(self, data: Data) -> Iterator[Frame]:
        """Yield the frames that end in these bytes; raise a `WireError` at the first invalid one."""
        joined = self.join(data)
        if not joined:
            return
        view = memoryview(joined)  # avoids copies
        start, size = 0, len(joined)
        try:
            while start + LENGTH_BYTES <= size:
                end = start + LENGTH_BYTES + _length.unpack_from(joined, start)[0]
                if end > size or end - start > self.max_length:
                    end = self.end_of(joined, start)
                    if end == start:
                        break
                frame = self._decode(view[start + LENGTH_BYTES : end])
                start = end
                if frame is not None:
                    yield frame
        finally:
            self.keep(joined, start)

    def join(self, data: Data) -> Data:
        """Return bytes with what was kept of those before; nothing while a frame is incomplete."""
        if not self._rest:
            return data
        self._rest += data
        if len(self._rest) < self._needed:  # so that a frame in many chunks is not copied for each
            return b""
        joined, self._rest = self._rest, bytearray()
        return joined

    def keep(self, data: Data, start: int) -> None:
        """Keep bytes from `start` on, which are returned by the next `join`."""
        if start < len(data):
            self._rest = rest = bytearray(memoryview(data)[start:])
            self._needed = LENGTH_BYTES + (_length.unpack_from(rest)[0] if len(rest) >= LENGTH_BYTES else 0)

    def end_of(self, data: Data, start: int) -> int:
        """Return where the frame at `start` ends, or `start` if it is incomplete; raise a `WireError` if too long."""
        if len(data) - start < LENGTH_BYTES:
            return start
        (length,) = _length.unpack_from(data, start)
        if length > self.max_length:
            raise self._too_long(length, bytes(data[start : start + LENGTH_BYTES]))
        end: int = start + LENGTH_BYTES + length
        return end if end <= len(data) else start

    def read(self, data: Data, start: int, end: int) -> Frame | None:
        """Return a frame; None if it is skipped. Raise a `WireError` if it is invalid."""
        return self._decode(memoryview(data)[start + LENGTH_BYTES : end])

    def _decode(self, body: memoryview) -> Frame | None:
        try:
            frame: Frame = _decoder.decode(body)
            if _check_message(frame):
                self.has_nested = True
        except (msgspec.DecodeError, UnicodeDecodeError, InputError, RecursionError) as error:
            raise WireError(f"invalid frame: {error}") from None
        if self.is_first:
            self._begin(frame)
        if len(body) > MAX_PACKET_BYTES - LENGTH_BYTES and isinstance(frame, Packet | PacketRun | ReplyFrame):
            self.skipped += 1
            return None
        return frame

    def _too_long(self, length: int, prefix: bytes) -> WireError:
        if self.is_first and length >> 16 == _TLS:
            return WireError("the peer uses TLS, which is not enabled here")
        if self.is_first and prefix in _HTTP:
            return WireError("the peer uses HTTP, which is served at another address, the setting `http`")
        return WireError(f"frame of {length:,} bytes; the maximum is {self.max_length:,}")

    def _begin(self, frame: Frame) -> None:
        if not isinstance(frame, Hello):
            raise WireError(f"the first frame is {type(frame).__name__}, not Hello")
        self.is_first = False
        self.version = min(frame.high, VERSION)
        self.max_length = MAX_ROUTER_FRAME_BYTES if frame.role == "router" else MAX_CLIENT_FRAME_BYTES


def _check_message(frame: Frame) -> bool:
    """Check the message of a frame where decoding did not; return whether it is nested."""
    if type(frame) in _MESSAGE_FRAMES:
        return check_nested(frame.attributes)  # type: ignore[attr-defined]
    return isinstance(frame, Answer) and frame.item is not None and check_nested(frame.item.attributes)
