"""Attacks by connections that never identify themselves."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import cycle
from select import poll
from typing import Final

from cbnet.network.protocol.addresses import Address
from cbnet_lab.faults.attacks.attacker import LINK_TIMEOUT, Attacker, Work
from cbnet_lab.faults.attacks.ring import ATTACKED

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
        opened = socket.create_connection(("127.0.0.1", attacker.target.ports[ATTACKED]), timeout=LINK_TIMEOUT)
        attacker.flood(opened)
        opened.sendall(outgoing.read())
        return opened

    return _hold(attacker, open_one, CONNECTIONS)


def silent(attacker: Attacker) -> Sequence[Work]:
    """Finish the TLS handshake of many connections, and send nothing more."""
    context = ssl.create_default_context(cafile=attacker.target.certificate.file)

    def open_one() -> socket.socket:
        plain = socket.create_connection(("127.0.0.1", attacker.target.ports[ATTACKED]), timeout=LINK_TIMEOUT)
        opened = context.wrap_socket(plain, server_hostname="127.0.0.1")
        attacker.flood(opened)
        return opened

    return _hold(attacker, open_one, _THREADS)


def unfinished(attacker: Attacker) -> Sequence[Work]:
    """Begin large handshakes, frames, requests and bodies without an account, and never finish them."""
    native, http = Address("127.0.0.1", attacker.target.ports[ATTACKED]), attacker.target.http[ATTACKED]
    context = ssl.create_default_context(cafile=attacker.target.certificate.file)
    host = f"Host: {http}\r\n".encode()
    upgrade = (
        b"GET /ws HTTP/1.1\r\n" + host + b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    post = b"POST /publish HTTP/1.1\r\n" + host + b"Content-Length: %d\r\n\r\n" % _SIZE
    begun = cycle(
        [  # address, with TLS or without, bytes, and bytes after the answer
            (native, False, b"\x16\x03\x01\x40\x00\x01\x02\x01\x40" + bytes(16_380), b""),  # a ClientHello of 128 KiB
            (native, True, (2_000).to_bytes(4) + bytes(1_990), b""),
            (http, False, b"GET /status HTTP/1.1\r\n" + host + b"X: " + b"x" * 16_000, b""),
            (http, False, post + _LARGE, b""),
            (http, False, upgrade, b"\x81\xff" + _SIZE.to_bytes(8) + bytes(4) + _LARGE),
        ]
    )

    def open_one() -> socket.socket:
        to, is_tls, first, second = next(begun)
        opened = socket.create_connection(to, timeout=LINK_TIMEOUT)
        if is_tls:
            opened = context.wrap_socket(opened, server_hostname="127.0.0.1")
        attacker.flood(opened)
        if second:
            opened.sendall(first)
            opened.recv(1 << 12)
        opened.setblocking(False)
        with suppress(OSError):  # what the router reads no more
            opened.send(second or first)
        return opened

    return _hold(attacker, open_one, _THREADS)


def _hold(attacker: Attacker, open_one: Callable[[], socket.socket], first: int) -> Sequence[Work]:
    """Open some connections, and return works that keep as many open as the attack has."""
    attacker.did("connections", first)
    held = [[open_one() for _ in range(first // _THREADS)] for _ in range(_THREADS)]
    return [partial(_hold_some, attacker, open_one, each) for each in held]


def _hold_some(attacker: Attacker, open_one: Callable[[], socket.socket], held: list[socket.socket]) -> None:
    """Open a connection in place of each that was closed."""
    held[:] = [each for each in held if each.fileno() >= 0]
    while len(held) < CONNECTIONS // _THREADS and not attacker.is_over.is_set():
        held.append(open_one())
        attacker.did("connections")
    watched = poll()
    by_number = {number: each for each in held if (number := each.fileno()) >= 0}  # the others were closed at the end
    for number in by_number:
        watched.register(number)
    if attacker.is_over.wait(_CHECKED):
        return
    for number, _ in watched.poll(0):
        if _is_closed(by_number[number]):
            held.remove(by_number[number])
            attacker.tell("closed by the router")


def _is_closed(held: socket.socket) -> bool:
    """Return whether a connection is closed, here or by the peer; drop the bytes that the peer sent before."""
    if (number := held.fileno()) < 0:
        return True
    try:
        raw = socket.socket(fileno=number)
    except OSError:
        return True
    try:
        return not raw.recv(1 << 16, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        raw.detach()
