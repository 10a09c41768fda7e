"""The attacker: a process of its own, which runs one attack after another.

trial ──► name of an attack ──► attacker      it sets up the attack, and repeats each of its works in a thread
      ◄── "ready"
      ◄── ("kill" | "start", router)          for attacks on what is kept for an absent router; answered when done
      ──► "stop"
      ◄── AttackOutcome                             every work has run at least once; all its connections are closed
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Final

import msgspec

from cbnet.errors import CbnetError
from cbnet.network import Client, NotStored, Refused, Tls, connect
from cbnet.network.protocol.frames import Close, Frame, RefusedFrame
from cbnet_lab.bench.router.router_client import RouterClient
from cbnet_lab.faults.attacks.ring import ATTACKED, AttackedRing
from cbnet_lab.faults.http_clients import WebSocketBytes

if TYPE_CHECKING:
    from cbnet_lab.faults.attacks.attacks import Attack

Work = Callable[[], None]  # one step of an attack
ENDED: Final = 30.0  # timeout for the last step of every work, in seconds
DELAYED: Final = 60.0  # seconds for which an attack goes on that has not done and heard the least
_CHECKED: Final = 0.05  # seconds between two checks of that
_PAUSE: Final = 0.05  # seconds after a step that failed
_MAX_TOLD = 20  # different answers
_MAX_LENGTH = 160  # characters of an answer
HTTP_TIMEOUT: Final = 20.0  # seconds
LINK_TIMEOUT: Final = 5.0  # seconds


@dataclass
class AttackOutcome:
    """What an attacker did, what it was told, and what it achieved."""

    did: Counter[str] = field(default_factory=Counter)
    told: Counter[str] = field(default_factory=Counter)
    harm: list[str] = field(default_factory=list)  # what the attacker achieved and must not
    timed_harm: list[str] = field(default_factory=list)  # the same, as far as it depends on the speed of the machine


class Attacker:
    """One attack, by an account of its own."""

    def __init__(self, pipe: Connection, target: AttackedRing, account: str) -> None:
        self.target, self.account = target, account
        self.outcome = AttackOutcome()
        self.resources = ExitStack()  # closed at the end of the attack
        self.is_over = threading.Event()
        self._floods: list[socket.socket] = []
        self._pipe = pipe
        self._lock = threading.Lock()

    @property
    def token(self) -> str:
        """The token of the attacker."""
        return self.target.tokens[self.account]

    # --- connections

    def link(self) -> RouterClient:
        """Return a raw client of the attacked router, closed when the trial stops the attack."""
        client = self.target.access(self.account).connect("attacker", LINK_TIMEOUT)
        self.flood(client.link.socket)
        return client

    def client(self, account: str | None = None, router: str = ATTACKED) -> Client:
        """Return a client of a router, closed at the end; account: of another client."""
        address, tls = f"127.0.0.1:{self.target.ports[router]}", Tls(self.target.certificate.file)
        token = self.target.tokens[account or self.account]
        return self.resources.enter_context(connect(address, tls=tls, token=token, timeout=ENDED))

    def connection(self, to: tuple[str, int]) -> socket.socket:
        """Return a connected socket, closed at the end."""
        opened = socket.create_connection(to, timeout=HTTP_TIMEOUT)
        with self._lock:
            self.resources.callback(opened.close)
        return opened

    def brief_connection(self, to: tuple[str, int], context: ssl.SSLContext | None = None) -> socket.socket:
        """Return a connected socket, closed when the trial stops the attack; context: of TLS, if it begins."""
        opened = socket.create_connection(to, timeout=LINK_TIMEOUT)
        if context is not None:
            opened = context.wrap_socket(opened, server_hostname="127.0.0.1")
        self.flood(opened)
        return opened

    def web_socket(self) -> WebSocketBytes:
        """Return a WebSocket, closed at the end."""
        http = self.target.http[ATTACKED]
        return WebSocketBytes(self.connection(http), http, Authorization=f"Bearer {self.token}")

    def flood(self, opened: socket.socket) -> None:
        """Close a socket when the trial stops the attack, even while a step waits for it."""
        with self._lock:
            self._floods.append(opened)

    def http(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, str]:
        """Send an HTTP request as the attacker; return the status and the problem, if there is one."""
        sent = {"Authorization": f"Bearer {self.token}", **headers}
        with closing(HTTPConnection(*self.target.http[ATTACKED], timeout=HTTP_TIMEOUT)) as connection:
            connection.request(method, path, body, sent)
            self.did("requests")
            response = connection.getresponse()
            text = response.read() if response.status >= 400 else b""
        return response.status, self.tell(f"{response.status} {problem_text(text)}")

    # --- the record

    def did(self, what: str, count: int = 1) -> None:
        """Count what the attacker did."""
        with self._lock:
            self.outcome.did[what] += count

    def tell(self, answer: str) -> str:
        """Count an answer, and return it."""
        with self._lock:
            text = answer[:_MAX_LENGTH]
            if text in self.outcome.told or len(self.outcome.told) < _MAX_TOLD:
                self.outcome.told[text] += 1
        return answer

    def hear(self, frames: Sequence[Frame]) -> int:
        """Count the refusals among frames of a router; return the number of other frames."""
        refusals = [each for each in frames if isinstance(each, RefusedFrame | Close)]
        for each in refusals:
            self.tell(each.reason)
        return len(frames) - len(refusals)

    @contextmanager
    def told(self, harm: str = "") -> Iterator[None]:
        """Count a refusal as an answer, and go on; harm: what the attacker has achieved if nothing is refused."""
        try:
            yield
        except (NotStored, Refused) as error:
            self.tell(str(error))
        else:
            if harm:
                self.harm(harm)

    def publish_stored(self, client: Client, message: dict[str, Any], timeout: float) -> int:
        """Publish a durable message of an honest client, which must be stored; return how many others refused it."""
        try:
            receipt = client.publish(message, durable=True, timeout=timeout)
        except NotStored as error:
            self.harm(f"a message was refused, or not stored: {error}")
            return 0
        if receipt is None or not receipt.subscriptions:
            self.harm("a receipt counts no subscription")
            return 0
        return receipt.refused_by_others

    def harm(self, text: str) -> None:
        """Record what the attacker achieved and must not."""
        with self._lock:
            self.outcome.harm.append(text)

    # --- the run

    def ask(self, act: str, router: str) -> None:
        """Make the trial kill or start a router."""
        self._pipe.send((act, router))
        self._pipe.recv()

    def run(self, attack: Attack) -> None:
        """Run an attack until the trial stops it, and until it has done and heard the least; send the outcome."""
        try:
            works = attack.run(self)
            threads = [threading.Thread(target=self._repeat, args=(work,), daemon=True) for work in works]
            for thread in threads:
                thread.start()
            self._pipe.send("ready")
            self._pipe.recv()  # stop
            end = time.monotonic() + DELAYED
            while self._misses(attack) and time.monotonic() < end:
                time.sleep(_CHECKED)  # a busy machine has done less in the time of the trial
            self.is_over.set()
            self._end_floods()
            end = time.monotonic() + ENDED
            for thread in threads:
                thread.join(max(0.0, end - time.monotonic()))
        finally:
            self.is_over.set()
            self._end_floods()
            self.resources.close()
        self._pipe.send(self.outcome)

    def _misses(self, attack: Attack) -> bool:
        with self._lock:
            return any(attack.missing(self.outcome.did, self.outcome.told))

    def _end_floods(self) -> None:
        with self._lock:
            for opened in self._floods:
                with suppress(OSError):
                    opened.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for it
                opened.close()
            self._floods.clear()

    def _repeat(self, work: Work) -> None:
        """Repeat a step until the attack is over, at least once."""
        while True:
            try:
                work()
            except (CbnetError, OSError, HTTPException) as error:
                if not self.is_over.is_set():
                    self.tell(f"{type(error).__name__}: {error}")
                    time.sleep(_PAUSE)
            if self.is_over.is_set():
                return


def problem_text(body: bytes) -> str:
    """Return the text of a problem document."""
    try:
        members: dict[str, Any] = msgspec.json.decode(body)
        return str(members["detail"])
    except (msgspec.DecodeError, UnicodeError, LookupError, TypeError):
        return body[:_MAX_LENGTH].decode(errors="replace")


def attack(pipe: Connection, target: AttackedRing) -> None:
    """Run the attacks that the trial names, until the pipe closes."""
    from cbnet_lab.faults.attacks.attacks import ATTACKS  # which use this module

    while True:
        name = pipe.recv()
        try:
            Attacker(pipe, target, name).run(ATTACKS[name])
        except (CbnetError, OSError) as error:  # such as a router that refuses what an attack needs
            pipe.send(CbnetError(f"{name}: {error}"))
