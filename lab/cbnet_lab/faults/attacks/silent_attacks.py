"""Attacks by connections that never identify themselves."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import cycle
from typing import Final

from cbnet.network.protocol.addresses import Address
from cbnet_lab.faults.attacks.attacker import Attacker, Work
from cbnet_lab.faults.attacks.ring import ATTACKED
from cbnet_lab.faults.http_clients import WebSocketBytes

CONNECTIONS: Final = 1_000
_THREADS: Final = 4
_CHECKED: Final = 0.05  # interval of the search for closed connections, in seconds
_LARGE: Final = bytes(1 << 16)  # of what a frame or a body announces
_SIZE: Final = 1 << 20  # bytes announced


def half_open(attacker: Attacker) -> Sequence[Work]:
    """Send the first message of a TLS handshake over many connections, and nothing more."""
    context = ssl.create_default_context(cafile=attacker.target.certificate.file)

    def open_one() -> socket.socket:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        handshake = context.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
        with suppress(ssl.SSLWantReadError):
            handshake.do_handshake()
        opened = attacker.brief_connection(_native(attacker))
        opened.sendall(outgoing.read())
        return opened

    return _hold(attacker, open_one, CONNECTIONS)


def silent(attacker: Attacker) -> Sequence[Work]:
    """Finish the TLS handshake of many connections, and send nothing more."""
    context = ssl.create_default_context(cafile=attacker.target.certificate.file)
    return _hold(attacker, partial(attacker.brief_connection, _native(attacker), context), _THREADS)


def unfinished(attacker: Attacker) -> Sequence[Work]:
    """Begin large handshakes, frames, requests and bodies without an account, and never finish them."""
    native, http = _native(attacker), attacker.target.http[ATTACKED]
    context = ssl.create_default_context(cafile=attacker.target.certificate.file)
    host = f"Host: {http}\r\n".encode()
    post = b"POST /publish HTTP/1.1\r\n" + host + b"Content-Length: %d\r\n\r\n" % _SIZE
    begun = cycle(
        [  # address, context of TLS, whether to open a WebSocket first, and bytes
            (native, None, False, b"\x16\x03\x01\x40\x00\x01\x02\x01\x40" + bytes(16_380)),  # a ClientHello of 128 KiB
            (native, context, False, (2_000).to_bytes(4) + bytes(1_990)),
            (http, None, False, b"GET /status HTTP/1.1\r\n" + host + b"X: " + b"x" * 16_000),
            (http, None, False, post + _LARGE),
            (http, None, True, b"\x81\xff" + _SIZE.to_bytes(8) + bytes(4) + _LARGE),
        ]
    )

    def open_one() -> socket.socket:
        to, tls, is_web_socket, data = next(begun)
        opened = attacker.brief_connection(to, tls)
        if is_web_socket:
            WebSocketBytes(opened, http)
        opened.setblocking(False)
        with suppress(OSError):  # what the router reads no more
            opened.send(data)
        return opened

    return _hold(attacker, open_one, _THREADS)


def _native(attacker: Attacker) -> Address:
    return Address("127.0.0.1", attacker.target.ports[ATTACKED])


def _hold(attacker: Attacker, open_one: Callable[[], socket.socket], first: int) -> Sequence[Work]:
    """Open some connections, and return works that keep as many open as the attack has."""
    attacker.did("connections", first)
    held = [[open_one() for _ in range(first // _THREADS)] for _ in range(_THREADS)]
    return [partial(_hold_some, attacker, open_one, each) for each in held]


def _hold_some(attacker: Attacker, open_one: Callable[[], socket.socket], held: list[socket.socket]) -> None:
    """Open a connection in place of each that was closed."""
    while len(held) < CONNECTIONS // _THREADS and not attacker.is_over.is_set():
        held.append(open_one())
        attacker.did("connections")
    if attacker.is_over.wait(_CHECKED):
        return
    for each in [*held]:
        if _is_closed(each):
            held.remove(each)
            attacker.tell("closed by the router")


def _is_closed(held: socket.socket) -> bool:
    """Return whether a connection is closed, here or by the peer; drop the bytes that the peer sent before."""
    try:
        return not os.read(held.fileno(), 1 << 16)  # below TLS; does not block, as the socket has a timeout
    except BlockingIOError:
        return False
    except OSError:
        return True
