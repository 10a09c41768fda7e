"""Relay: how is a link between two processes cut? Its bytes go through here, until they do not.

    router a ──► relay ──► router b

`cut` closes both sides, and no new connection comes through; `silence` keeps them open and carries nothing, as when
a cable is pulled; `mend` lets all through again.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from cbnet.network.protocol.addresses import Address


class Relay:
    """A place that connections go through."""

    def __init__(self, to: Address) -> None:
        """Take where the connections lead."""
        self._to = to
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = Address(*self._listener.getsockname()[:2])
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._is_cut = False
        self._is_flowing = threading.Event()
        self._is_flowing.set()
        threading.Thread(target=self._accept, daemon=True, name="cbnet-relay").start()

    def cut(self) -> None:
        """Close all connections, and those that come."""
        with self._lock:
            self._is_cut = True
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            self._open.clear()

    def silence(self) -> None:
        """Carry nothing more, and say nothing."""
        self._is_flowing.clear()

    def mend(self) -> None:
        """Carry all again; what was held back in silence is lost with its connections, as after a long while."""
        if not self._is_flowing.is_set():
            self.cut()
            self._is_flowing.set()
        with self._lock:
            self._is_cut = False

    def close(self) -> None:
        """End."""
        self.cut()
        self._is_flowing.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near: socket.socket) -> None:
        try:
            far = socket.create_connection(self._to, timeout=5)
        except OSError:
            near.close()
            return
        far.settimeout(None)
        with self._lock:
            is_cut = self._is_cut
            if not is_cut:
                self._open += [near, far]
        if is_cut:
            near.close()
            far.close()
            return
        back = threading.Thread(target=self._carry, args=(far, near), daemon=True)
        back.start()
        self._carry(near, far)
        back.join()
        near.close()
        far.close()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                self._is_flowing.wait()
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
