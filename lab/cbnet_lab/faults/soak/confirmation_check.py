"""A check of confirmations: a message that is published after one must be delivered.

    subscribe ────────► confirmed ──► published, by any router that can be reached ──► delivered
                            └────── no change of cables or routers ────────────────────────┘

A confirmation is checked if no router holds a link that is dead without its knowledge, and if it names as many routers
as the cables connect, and as the links connect that are up: where a bridge is gone and its substitute is still being
dialled, nobody can deliver. Other links may still be coming up, and with them new versions of the topology.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.network.protocol.frames import Frame, Subscribed
from cbnet.network.simulation.memory_client import MemoryClient
from cbnet.network.simulation.memory_network import ConnectionEnd, MemoryNetwork

_ROUND_TRIP = 0.002  # seconds: a confirmation that comes sooner belongs to an earlier subscription of the same id
_TIMEOUT = 3.0  # seconds until a delivery counts as missed: the longest paths take less
_SHARE = 0.5  # of the routers, which publish
_PAUSES = (0.0, 0.0, 0.05, 0.3)  # seconds from the confirmation until one publishes

Publish = Callable[[MemoryClient, Message], bytes]  # returns the payload


@dataclass(frozen=True)
class _Waiting:
    predicate: Predicate
    since: float


@dataclass
class ConfirmationCheck:
    """Publishes when a subscription is confirmed, and checks that the messages are delivered."""

    memory: MemoryNetwork
    clients: Mapping[str, MemoryClient]
    messages: Sequence[Message]
    publish: Publish
    checked: int = 0  # messages
    missed: list[str] = field(default_factory=list)
    _changes: int = 0  # of cables and routers
    _waiting: dict[tuple[str, int], _Waiting] = field(default_factory=dict)  # by client and subscription

    def disturb(self) -> None:
        """Record a change of cables or routers."""
        self._changes += 1

    def subscribed(self, client: MemoryClient, id: int, predicate: Predicate) -> None:
        """Record that a client subscribes, and waits for the confirmation."""
        client.on_answer = lambda frame: self._answered(client, frame)
        self._waiting[client.name, id] = _Waiting(predicate, self.memory.now)

    def cancel(self, client: MemoryClient, id: int) -> None:
        """Record that a subscription ends, or is replaced."""
        self._waiting.pop((client.name, id), None)

    def _are_dead_links_known(self) -> bool:
        return all(_works(end) for host in self.memory.hosts.values() for end in host.ends.values())

    def _answered(self, client: MemoryClient, frame: Frame) -> None:
        if not isinstance(frame, Subscribed) or not frame.is_confirmed:
            return
        waiting = self._waiting.get((client.name, frame.id))
        if waiting is None or self.memory.now - waiting.since < _ROUND_TRIP:
            return
        cables = self._cables()
        reached = _reached(client.router, cables)
        if len(reached) != frame.routers or not self._are_dead_links_known():
            return
        if reached != _reached(client.router, [pair for pair in cables if self._is_up(*pair)]):
            return
        random = self.memory.random
        matching = [message for message in self.messages if waiting.predicate.matches(message)]
        for name in sorted(reached) if matching else ():
            if random.random() < _SHARE:
                message = random.choice(matching)
                self.memory.after(random.choice(_PAUSES), self._probe(client, frame.id, waiting, name, message))

    def _probe(
        self, client: MemoryClient, id: int, waiting: _Waiting, router: str, message: Message
    ) -> Callable[[], None]:
        """Return a call that publishes a message at a router, and checks later whether the client has it."""
        changes = self._changes

        def is_undisturbed() -> bool:
            return changes == self._changes and self._waiting.get((client.name, id)) is waiting

        def publish() -> None:
            publisher = self.clients[f"{router}.0"]
            if is_undisturbed() and self._is_connected(publisher):
                payload = self.publish(publisher, message)
                sent = self.memory.now
                self.memory.after(_TIMEOUT, lambda: check(payload, sent))

        def check(payload: bytes, sent: float) -> None:
            if is_undisturbed():
                self.checked += 1
                if not any(each.payload == payload and each.subscription == id for each in client.deliveries):
                    text = (
                        f"{client.name} was confirmed subscription {id} of {waiting.since:.3f} and missed {payload!r}"
                    )
                    self.missed.append(f"{text}, published at {router} at {sent:.3f}")

        return publish

    def _is_connected(self, client: MemoryClient) -> bool:
        """Return whether the router of a client has its connection, which is not so if it was killed meanwhile."""
        router, end = self.memory.hosts[client.router].router, client.end
        return router is not None and end is not None and _works(end) and router.links.get(end.peer.link) is not None

    def _cables(self) -> list[tuple[str, str]]:
        """Return the cables between running routers that are not cut."""
        running = {name for name, host in self.memory.hosts.items() if host.router is not None}
        return [pair for pair in self.memory.cables(cut=False) if running.issuperset(pair)]

    def _is_up(self, a: str, b: str) -> bool:
        """Return whether both routers of a cable have a link to the other."""
        return all(self.memory.router(x).links.to(y) is not None for x, y in ((a, b), (b, a)))


def _reached(router: str, pairs: Sequence[tuple[str, str]]) -> set[str]:
    """Return the routers that some pairs connect with one, including itself."""
    reached = {router}
    while more := {name for pair in pairs if reached.intersection(pair) for name in pair} - reached:
        reached |= more
    return reached


def _works(end: ConnectionEnd) -> bool:
    return end.is_open and not (end.is_lost or end.peer.is_lost)
