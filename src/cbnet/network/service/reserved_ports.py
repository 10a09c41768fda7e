"""Free ports of this machine, reserved for servers that will listen on them, also after they were killed.

A reserved port has a bound socket that does not listen. Nobody else can reserve it, as sockets are bound without
SO_REUSEADDR; a server that sets it, as routers do, can listen.
"""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Iterable
from contextlib import ExitStack, closing

_PORTS = range(10_000, 32_000)  # below the ephemeral ports


class ReservedPorts(ExitStack):
    """Ports that no other process reserves; a context manager."""

    def __init__(self, count: int, taken: Iterable[int] = ()) -> None:
        """Reserve free ports; taken: ports to leave out."""
        super().__init__()
        self.numbers: list[int] = []
        unusable = set(taken)
        generator = random.Random(os.urandom(8))
        while len(self.numbers) < count:
            port = generator.choice(_PORTS)
            if port not in unusable and self._reserve(port):
                self.numbers.append(port)

    def _reserve(self, port: int) -> bool:
        with ExitStack() as stack:
            reserving = stack.enter_context(closing(socket.socket()))
            try:
                reserving.bind(("127.0.0.1", port))
            except OSError:
                return False
            reserving.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.push(stack.pop_all())
        return True


def free_ports(count: int) -> list[int]:
    """Return ports that are free now, for servers that start at once."""
    with ReservedPorts(count) as ports:
        return ports.numbers
