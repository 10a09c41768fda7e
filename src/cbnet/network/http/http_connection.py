"""HTTP connections of a router, limited in number and in idle time.

    accepted ──► first request ──► idle ◄──► session: a request that holds a link, an event stream, a WebSocket

Until the first request, the limits of native connections apply (`Acceptor`). The number of sessions is limited, and so
is that of all other connections, beyond which the oldest is closed: there is always room for the next health check. A
connection is closed if it sends no complete request head in time, or reads nothing although bytes are waiting for it.

Bytes are read in small pieces, so that whatever is in them, such as a thousand chunks or frames of one byte each, takes
a few milliseconds, in the turns of the client (`processor_share`). A body is not read before the router asks for it,
when it knows the client; nor is more than a `hello` of a WebSocket. A request with too long a head, or with two
lengths, is refused and its connection closed: a proxy may see another request behind it than the router does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import h11
import msgspec
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from cbnet.network.http.problems import CONTENT_TYPE, Problem, problem_members
from cbnet.network.http.processor_share import ProcessorShare
from cbnet.network.transport.acceptor import Acceptor
from cbnet.network.transport.connection import break_cycle, read_buffer
from cbnet.network.transport.processor_turns import ProcessorTurns

if TYPE_CHECKING:
    from cbnet.network.client.async_client import AsyncClient

HEAD_TIMEOUT: Final = 5.0  # seconds for the head of a request, also for the next one of a connection
STALL_TIMEOUT: Final = 30.0  # seconds without reading, although bytes are waiting
MAX_IDLE: Final = 64  # connections without a session
MAX_HEAD: Final = 1 << 14  # bytes of a request line and its headers
MAX_HEADERS: Final = 128  # of a request; 16 KiB of the shortest take 560 kB
MAX_UNADMITTED: Final = 1 << 14  # bytes read from a WebSocket before its client is admitted
_PIECE: Final = 1 << 12  # bytes read at once: 700 chunks of one byte take 8 ms
_MALFORMED: Final = Problem(400, "not an HTTP/1.1 request")
_LONG_HEAD: Final = Problem(400, f"the head of the request is longer than {MAX_HEAD:,} bytes", hint="use fewer headers")
_MANY_HEADERS: Final = Problem(400, f"the request has more than {MAX_HEADERS:,} headers", hint="use fewer headers")
_TWO_LENGTHS: Final = Problem(400, "the request has Content-Length and Transfer-Encoding", hint="send one of them")


class _PieceReader(asyncio.BufferedProtocol):
    """A protocol that gets its bytes in small pieces, in turns of its client."""

    share: ProcessorShare
    transport: asyncio.Transport

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._unread = bytearray()  # waits for the next turn

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        """Return the buffer for the next bytes."""
        return read_buffer.view[:_PIECE]

    def buffer_updated(self, nbytes: int) -> None:
        """Handle received bytes, or keep them for the next turn."""
        is_waiting = bool(self._unread)
        self._unread += read_buffer.view[:nbytes]
        if is_waiting:
            self.transport.pause_reading()
        else:
            self._read()

    def _read(self) -> None:
        """Handle the bytes that wait, while there is time."""
        while self._unread and not self.transport.is_closing():
            if not self.share.has_time:
                self.transport.pause_reading()
                self.share.wait(self._read)
                return
            piece = bytes(self._unread[:_PIECE])
            del self._unread[:_PIECE]
            self.share.call(partial(self.data_received, piece))  # type: ignore[attr-defined]
        if not self.is_held:
            self.transport.resume_reading()

    @property
    def is_held(self) -> bool:
        """Whether reading is paused because earlier bytes are still being used."""
        raise NotImplementedError

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the connection."""
        super().connection_lost(exc)
        break_cycle(self.transport)


class WebSocketConnection(_PieceReader, WebSocketsSansIOProtocol):  # type: ignore[misc]
    """One WebSocket of an HTTP client; text is passed on as bytes, which the parser of its JSON checks."""

    handle_text = WebSocketsSansIOProtocol.handle_bytes
    _is_admitted = False
    _unadmitted = 0  # bytes received before the client was admitted

    def buffer_updated(self, nbytes: int) -> None:
        """Handle received bytes; read no more than some kilobytes before the client is admitted."""
        self._unadmitted += 0 if self._is_admitted else nbytes
        super().buffer_updated(nbytes)
        if self.is_held:
            self.transport.pause_reading()

    def admit(self) -> None:
        """Read without a limit: the client is admitted."""
        self._is_admitted = True
        if not self._unread and not self.is_held:
            self.transport.resume_reading()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Go on in the turns of the HTTP connection."""
        self.share = self.app_state["connection"].share
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the generator of the parser, and the frames of errors, which refer to this object."""
        super().connection_lost(exc)
        self.conn.parser.close()
        error: BaseException | None
        for error in (self.conn.parser_exc, self.conn.handshake_exc):
            while error is not None:
                error.__traceback__ = None
                error = error.__cause__ or error.__context__

    @property
    def is_held(self) -> bool:
        """Whether messages wait for the application, or the client has sent enough before it is admitted."""
        return bool(self.read_paused) or (not self._is_admitted and self._unadmitted > MAX_UNADMITTED)

    def handle_parser_exception(self) -> None:
        """Close a connection that carried invalid bytes, at once if the handshake has not been answered yet."""
        if self.conn.close_sent is None:
            self.transport.abort()
        else:
            super().handle_parser_exception()

    def handle_ping(self) -> None:
        """Answer a ping, unless answers wait because the client does not read."""
        answer = self.conn.data_to_send()
        if self.writable.is_set():
            self.transport.write(b"".join(answer))


class _RequestParser(h11.Connection):
    """Parses the requests of a connection; `fault` is why it could not."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, MAX_HEAD)
        self.fault = _MALFORMED

    def next_event(self) -> Any:
        """Return the next event; raise an error for a request that is refused."""
        held = len(self.trailing_data[0]) if self.their_state is h11.IDLE else 0
        try:
            event = super().next_event()
        except h11.RemoteProtocolError as error:
            self.fault = _LONG_HEAD if error.error_status_hint == 431 or held > MAX_HEAD else _MALFORMED
            error.__traceback__ = None  # whose frames refer to the error
            raise
        if type(event) is h11.Request:
            lengths = {name for name, _ in event.headers} & {b"content-length", b"transfer-encoding"}
            if held - len(self.trailing_data[0]) > MAX_HEAD:
                self.fault = _LONG_HEAD
            elif len(event.headers) > MAX_HEADERS:
                self.fault = _MANY_HEADERS
            elif len(lengths) == 2:
                self.fault = _TWO_LENGTHS
            else:
                return event
            raise h11.RemoteProtocolError(str(self.fault))
        return event


class HttpConnection(_PieceReader, H11Protocol):  # type: ignore[misc]
    """One connection of an HTTP client."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, {**app_state, "connection": self}, _loop)
        self.conn = self._parser = _RequestParser()
        self.table: HttpConnections = app_state["connections"]
        self.links: dict[str, AsyncClient] = {}  # by token; they end with the connection
        self._is_upgraded = False
        self._begun: RequestResponseCycle | None = None  # the newest request
        self.idle_since: float | None = None
        self.unsent = 0  # bytes at the last check
        self.read_at = 0.0  # time of the last check at which no bytes, or fewer than before, were waiting

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection."""
        super().connection_made(transport)
        self.share = ProcessorShare(self.table.turns, self.client[0] if self.client else "")
        self.read_at = self.loop.time()
        self.table.opened(self)

    @property
    def is_held(self) -> bool:
        """Whether a body, or the next request, waits for the application."""
        return self.flow.read_paused

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection."""
        super().connection_lost(exc)
        self.table.closed(self)
        self._release()

    def handle_events(self) -> None:
        """Handle received bytes; the client has sent a request."""
        super().handle_events()
        if self.cycle is not self._begun:
            self._begun = self.cycle
            self.table.known(self)
            if self.cycle.more_body:
                self.flow.pause_reading()  # until the first `receive`

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self.idle_since = None
        super().on_response_complete()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hand the connection over to a WebSocket."""
        self._is_upgraded = True
        self.table.known(self)
        self._unread.clear()  # a client waits for the answer
        super().handle_websocket_upgrade(event)
        self._release()

    def _release(self) -> None:
        """Release what refers to this object, which would wait for a garbage collection."""
        self.app_state = {}
        self.scope = self.cycle = self._begun = None  # type: ignore[assignment]  # as before the first request

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Answer bytes that are not a valid request with a problem document."""
        if self.is_busy:  # the answer to the request before has not begun, and is dropped
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = msgspec.json.encode(problem_members(self._parser.fault)) + b"\n"
            head = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n"
            self.transport.write(head.format(CONTENT_TYPE, len(body)).encode() + body)
        self.transport.close()

    @property
    def is_busy(self) -> bool:
        """Whether a request is being answered, or the connection is a WebSocket."""
        return self._is_upgraded or (self.cycle is not None and not self.cycle.response_complete)


class HttpConnections:
    """All HTTP connections of a router."""

    def __init__(self, turns: ProcessorTurns, most: int) -> None:
        """Initialise with the turns of all clients, and the maximum number of sessions."""
        self.turns = turns
        self.acceptor: Acceptor[HttpConnection]
        self.on_closed: Callable[[HttpConnection], None] = lambda _: None
        self._most = most
        self._new: set[HttpConnection] = set()  # without a request
        self._idle: dict[HttpConnection, None] = {}  # oldest first
        self._sessions: set[HttpConnection] = set()

    def opened(self, connection: HttpConnection) -> None:
        """Add a connection."""
        self._new.add(connection)

    def known(self, connection: HttpConnection) -> None:
        """Handle the first request of a connection; if too many have no session, close the oldest without a request.

        A connection with a request may become a session in this iteration of the event loop.
        """
        if connection not in self._new:
            return
        self._new.discard(connection)
        self.acceptor.forget(connection)
        self._idle[connection] = None
        surplus = len(self._idle) - MAX_IDLE
        if surplus > 0:
            waiting = (each for each in self._idle if surplus > self._most or not each.is_busy)
            for oldest in islice(waiting, 1):
                oldest.transport.abort()

    def closed(self, connection: HttpConnection) -> None:
        """Remove a connection."""
        self._new.discard(connection)
        self._idle.pop(connection, None)
        self._sessions.discard(connection)
        self.acceptor.forget(connection)
        self.on_closed(connection)

    @contextmanager
    def session(self, connection: HttpConnection) -> Iterator[None]:
        """Count a session; raise a `Problem` if there are too many."""
        if len(self._sessions) >= self._most:
            raise Problem(
                503, f"all {self._most:,} HTTP sessions are in use", hint="try again later, or raise `http_connections`"
            )
        self._idle.pop(connection, None)
        self._sessions.add(connection)
        try:
            yield
        finally:
            self._sessions.discard(connection)
            if not connection.transport.is_closing():
                self._idle[connection] = None
            else:
                self.closed(connection)

    def check(self, now: float) -> None:
        """Close connections that are too slow, and remove closed ones; call it every second."""
        for connection in self._all():
            if connection.transport.is_closing():  # of a WebSocket, which does not report its end to `closed`
                self.closed(connection)
            elif self._is_late(connection, now) or _is_stalled(connection, now):
                connection.transport.abort()

    def abort(self) -> None:
        """Close all connections at once."""
        for connection in self._all():
            connection.transport.abort()

    def _all(self) -> list[HttpConnection]:
        return [*self._new, *self._idle, *self._sessions]

    def _is_late(self, connection: HttpConnection, now: float) -> bool:
        if connection.is_busy or connection in self._sessions:
            connection.idle_since = None
            return False
        if connection.idle_since is None:
            connection.idle_since = now
        return now - connection.idle_since > HEAD_TIMEOUT


def _is_stalled(connection: HttpConnection, now: float) -> bool:
    unsent = connection.transport.get_write_buffer_size()
    if not unsent or unsent < connection.unsent:
        connection.read_at = now
    connection.unsent = unsent
    return now - connection.read_at > STALL_TIMEOUT
