"""Wire: how do frames become bytes, and bytes frames?

    ┌────────────┬─────────────────────────┐
    │ length n   │ MessagePack, n bytes    │   length: 4 bytes, the first the highest
    └────────────┴─────────────────────────┘

The first frame must be a `Hello`; it also says how long the others may be. Whatever is wrong with the bytes raises
one error, a `WireError`, with the reason to close the link for.

A router may pass on what it was sent, a little longer than it came: with a longer name in the header, and floats of 32
bits in 64. So that nobody is blamed for what another made, packets end well below the limit of frames: a longer one is
skipped, and counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

import msgspec

from cbnet.errors import CbnetError
from cbnet.network.protocol.fields import MAX_REASON_LENGTH
from cbnet.network.protocol.frames import Frame, Hello, Packet, ReplyFrame

MIN_VERSION, MAX_VERSION = 1, 1  # protocol versions that this implementation speaks
LENGTH_BYTES = 4
MAX_HELLO_BYTES = 1 << 11
MAX_CLIENT_FRAME_BYTES = 1 << 20
MAX_ROUTER_FRAME_BYTES = 1 << 22
MAX_PACKET_BYTES = 5 << 19  # more than a client's message and a header can be

_NO_LENGTH = bytes(LENGTH_BYTES)
_TLS = 0x1603  # the first bytes that are said by TLS
_HTTP = (b"GET ", b"HEAD", b"POST")  # … and by HTTP
_length = Struct(">I")
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Frame)


class WireError(CbnetError):
    """Something that came over a link is not of the protocol; the link must be closed, with this reason."""

    def __init__(self, reason: str) -> None:
        self.reason = reason[:MAX_REASON_LENGTH]
        super().__init__(self.reason)


def encode(frame: Frame) -> bytes:
    """Return the bytes of a frame."""
    body = _encoder.encode(frame)
    return len(body).to_bytes(LENGTH_BYTES) + body


def encode_onto(frame: Frame, buffer: bytearray) -> None:
    """Append the bytes of a frame."""
    start = len(buffer)
    buffer += _NO_LENGTH
    _encoder.encode_into(frame, buffer, -1)
    _length.pack_into(buffer, start, len(buffer) - start - LENGTH_BYTES)


class FrameReader:
    """Reads the frames of one link from bytes, which may come in any pieces."""

    def __init__(self) -> None:
        self._rest = bytearray()  # what came of a frame whose end has not come yet
        self._needed = 0  # bytes that must be there to go on
        self._longest = MAX_HELLO_BYTES
        self._is_first = True
        self.skipped = 0  # packets that were too long

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that end in these bytes; raise a `WireError` where they are wrong, and from then on."""
        pending = data
        if self._rest:
            self._rest += data
            if len(self._rest) < self._needed:  # so that a frame in very many pieces is not copied for each of them
                return
            pending = bytes(self._rest)
        self._needed = LENGTH_BYTES
        view = memoryview(pending)  # what is read of it is not copied
        start, body, size = 0, LENGTH_BYTES, len(pending)
        try:
            while body <= size:
                (length,) = _length.unpack_from(pending, start)
                if length > self._longest:
                    if self._is_first and length >> 16 == _TLS:
                        raise WireError("this is TLS, and there is none here")
                    if self._is_first and pending[start:body] in _HTTP:
                        raise WireError("this is HTTP, which is answered at `http`")
                    raise WireError(f"a frame of {length:,} bytes; at most {self._longest:,} are allowed")
                end = body + length
                if end > size:
                    self._needed = end - start
                    break
                frame = _decoder.decode(view[body:end])
                if self._is_first:
                    self._begin(frame)
                start, body = end, end + LENGTH_BYTES
                if length > MAX_PACKET_BYTES - LENGTH_BYTES and isinstance(frame, Packet | ReplyFrame):
                    self.skipped += 1
                else:
                    yield frame
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise WireError(f"not a frame: {error}") from None
        finally:
            self._rest = bytearray(view[start:])

    def _begin(self, frame: Frame) -> None:
        if not isinstance(frame, Hello):
            raise WireError(f"the first frame is a {type(frame).__name__}, not a Hello")
        self._is_first = False
        self._longest = MAX_ROUTER_FRAME_BYTES if frame.role == "router" else MAX_CLIENT_FRAME_BYTES
