"""The database of the journals of router processes, and its faults.

database away       the server is killed, and started again
database silent     it does not answer
failover            it is killed for good, and its synchronous replica takes its place; once
"""

from __future__ import annotations

import signal
from contextlib import ExitStack
from typing import Final, Literal, TypeAlias

DATABASE_FAULTS: Final = ("database away", "database silent", "failover")
DatabaseKind: TypeAlias = Literal["", "alone", "replicated"]


class FaultyDatabase(ExitStack):
    """A PostgreSQL server, perhaps with a replica; ends with the `with` block."""

    def __init__(self, kind: DatabaseKind) -> None:
        """Start the server, unless the kind is empty."""
        super().__init__()
        self.uri: str | None = None
        self.is_broken = False  # whether it does not answer now
        if not kind:
            return
        from cbnet_lab.bench.postgres_server import PostgresServer, PostgresStandby

        self._server = self.enter_context(PostgresServer())
        self._replica = self.enter_context(PostgresStandby(self._server)) if kind == "replicated" else None
        self.uri = self._server.uri if self._replica is None else self._server.uri_with(self._replica)

    def begin(self, kind: str) -> bool:
        """Begin a fault; return whether that was possible."""
        self.is_broken = kind != "failover"
        if kind == "database silent":
            self._server.signal(signal.SIGSTOP)
        elif kind == "database away":
            self._server.kill()
        elif self._replica is None:
            return False
        else:
            self._server.kill()
            self._server, self._replica = self._replica, None
            self._server.promote()
        return True

    def end(self, kind: str) -> None:
        """End a fault."""
        self.is_broken = False
        if kind == "database silent":
            self._server.signal(signal.SIGCONT)
        elif kind == "database away":
            self._server.start()
