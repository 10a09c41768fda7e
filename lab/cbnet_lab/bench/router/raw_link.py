"""A connection of a load generator: bytes to and from a server, with TLS or without.

After the greeting it does not block, so one process can serve many of them.
"""

from __future__ import annotations

import select
import socket
import ssl
from typing import Self

from cbnet.errors import CbnetError

_TIMEOUT = 3600.0  # timeout for the answer to a greeting or to many subscriptions, in seconds
_SEND_TIMEOUT = 20.0  # seconds
_DISCARD = 1 << 16


class RawLink:
    """A connection to a server on this machine."""

    def __init__(self, port: int, authority: str | None = None) -> None:
        """Connect; authority: file of the certificate to trust, if the server uses TLS."""
        self._context = None if authority is None else ssl.create_default_context(cafile=authority)
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=_TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._waste = memoryview(bytearray(_DISCARD))

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self.socket.fileno()

    @property
    def is_tls(self) -> bool:
        """Whether TLS has begun."""
        return isinstance(self.socket, ssl.SSLSocket)

    def begin_tls(self) -> None:
        """Begin TLS, if the server uses it."""
        if self._context is not None:
            self.socket = self._context.wrap_socket(self.socket, server_hostname="127.0.0.1")

    # --- greeting: blocking

    def ask(self, data: bytes, end: bytes = b"") -> bytes:
        """Send bytes; return the answer, received until it contains `end`."""
        self.socket.sendall(data)
        answer = b""
        while not answer or end not in answer:
            answer += self.receive()
        return answer

    def receive(self) -> bytes:
        """Wait for bytes."""
        data = self.socket.recv(_DISCARD)
        if not data:
            raise CbnetError("the server closed a connection during the greeting")
        return data

    def end_greeting(self) -> Self:
        """Stop blocking."""
        self.socket.setblocking(False)
        return self

    # --- load: non-blocking, except `send`

    def send(self, data: memoryview) -> None:
        """Send all bytes, waiting while the server does not read."""
        while data:
            try:
                data = data[self.socket.send(data) :]
            except (BlockingIOError, ssl.SSLWantWriteError):
                self._wait(select.POLLOUT)
            except ssl.SSLWantReadError:
                self._wait(select.POLLIN)

    def receive_into(self, space: memoryview) -> int:
        """Receive the available bytes, with TLS those of one record; return their number."""
        try:
            received = self.socket.recv_into(space)
        except (BlockingIOError, ssl.SSLWantReadError):
            return 0
        if not received:
            raise CbnetError("the server closed a connection")
        return received

    def discard(self) -> None:
        """Read and drop the available bytes, such as acknowledgements to a publisher."""
        while self.receive_into(self._waste):
            pass

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()

    def _wait(self, event: int) -> None:
        poll = select.poll()
        poll.register(self.socket, event)
        if not poll.poll(_SEND_TIMEOUT * 1000):
            raise CbnetError(f"the server has read nothing for {_SEND_TIMEOUT:g} s")
