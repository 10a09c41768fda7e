"""A peer in place of a router: checks the messages that a client publishes, or sends it deliveries.

It runs in a process of its own: only the client is measured.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any, Final

from cbnet.errors import CbnetError
from cbnet.network.protocol.frames import Deliver, Frame, Hello, Ping, Pong, Publish, Published, Subscribe, Subscribed
from cbnet.network.protocol.wire import FrameReader, encode

POOL: Final = 500  # different messages
PAYLOAD: Final = bytes(100)
_READ = 1 << 18  # bytes
_TIMEOUT = 60.0  # seconds without a byte
_HELLO = Hello(low=3, high=3, role="router", name="peer", network="cbnet", life=1, link=1, scheme="multitree")


def content(number: int) -> dict[str, Any]:
    """Return the attributes of a message."""
    return {"dest": "MXP", "price": number % POOL, "seat": f"s{number % POOL}"}


def serve(pipe: Connection, messages: int) -> None:
    """Serve one client, and deliver messages to it if it subscribes.

    Send the port to the pipe, and the number of messages that the client has published, when it closes its connection.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        pipe.send(listener.getsockname()[1])
        link, _ = listener.accept()
    link.settimeout(_TIMEOUT)
    link.sendall(encode(_HELLO))
    published = 0
    for frame in _frames(link):
        if isinstance(frame, Publish):
            if (frame.attributes, frame.payload) != (content(published), PAYLOAD):
                raise CbnetError("it received another message than was published")
            published += 1
            if frame.wants_answer:
                link.sendall(encode(Published(frame.number)))
        elif isinstance(frame, Subscribe):
            blocks = _deliveries(frame.id, messages)  # all encoded before the client is measured
            link.sendall(encode(Subscribed(frame.id, True, 1, [])))
            for block in blocks:
                link.sendall(block)
    pipe.send(published)


def _frames(link: socket.socket) -> Iterator[Frame]:
    """Yield the frames of the client; answer its pings."""
    reader = FrameReader()
    while data := _received(link):
        for frame in reader.feed(data):
            if isinstance(frame, Ping):
                link.sendall(encode(Pong(frame.number)))
            else:
                yield frame


def _received(link: socket.socket) -> bytes:
    """Return bytes; none at the end. A client that has its answer may close without reading the last pong."""
    try:
        return link.recv(_READ)
    except ConnectionResetError:
        return b""


def _deliveries(subscription: int, messages: int) -> list[bytes]:
    """Return the frames of all messages, in blocks."""
    frames = [
        encode(Deliver([subscription], "peer", 1, number + 1, content(number), [], PAYLOAD))
        for number in range(messages)
    ]
    return [b"".join(frames[first : first + POOL]) for first in range(0, messages, POOL)]
