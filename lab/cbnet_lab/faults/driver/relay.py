"""A TCP relay that can cut or silence the link between two processes.

    router a ──► relay ──► router b

`cut` closes connections and refuses new ones; `silence` keeps them open but forwards nothing, like an unplugged
cable; `slow` delays all data; `repair` resumes forwarding.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress

from cbnet.network.protocol.addresses import Address


class Relay:
    """A relay of connections to one address."""

    def __init__(self, to: Address) -> None:
        """Listen on a free port; connections are relayed to `to`."""
        self._to = to
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = Address(*self._listener.getsockname()[:2])
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._is_cut = False
        self._delay = 0.0  # seconds
        self._is_flowing = threading.Event()
        self._is_flowing.set()
        threading.Thread(target=self._accept, daemon=True, name="cbnet-relay").start()

    def cut(self) -> None:
        """Close all connections, and new ones as they arrive."""
        with self._lock:
            self._is_cut = True
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            self._open.clear()

    def silence(self) -> None:
        """Stop forwarding without closing connections."""
        self._is_flowing.clear()

    def slow(self, seconds: float) -> None:
        """Delay all data; at most 64 KiB are forwarded at a time, so this also limits the throughput."""
        self._delay = seconds

    def repair(self) -> None:
        """Resume forwarding, without delay; silenced connections are closed, and their withheld data is lost."""
        self._delay = 0.0
        if not self._is_flowing.is_set():
            self.cut()
            self._is_flowing.set()
        with self._lock:
            self._is_cut = False

    def close(self) -> None:
        """Stop the relay."""
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
        back = threading.Thread(target=self._forward, args=(far, near), daemon=True)
        back.start()
        self._forward(near, far)
        back.join()
        near.close()
        far.close()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                self._is_flowing.wait()
                time.sleep(self._delay)
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
