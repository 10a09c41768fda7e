"""Month requests: does every request end as it must? Clients offer items and request those of others all the while.

Always: a request ends, with a reply that matches it, with the word that nobody has it, or when its time is up; unless
the connection of who asked has gone. In a quiet network one that somebody offers who can be reached ends with a reply.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from cbnet.lab.bench.soak.delivery_ledger import Counts
from cbnet.language.message import Message
from cbnet.network import MemoryClient
from cbnet.network.protocol.frames import ItemField, PullFailure, PullReply
from cbnet.network.simulation.memory_network import ConnectionEnd

_ITEMS = 10  # each offered by every tenth client
_TIMEOUT = 5.0  # seconds
_SLACK = 4.0  # seconds that an answer may take beside: on links, and to a client that stands still


@dataclass
class _Asked:
    """A request that has not ended."""

    client: MemoryClient
    end: ConnectionEnd  # over which it was sent
    item: int
    at: float
    is_quiet: bool
    is_held: bool  # by somebody who can be reached


class Requests:
    """The requests of all clients, and how they ended."""

    def __init__(self, clients: Mapping[str, MemoryClient], counts: Counts, seed: int) -> None:
        self._clients = clients
        self._counts = counts
        self._random = Random(f"requests {seed}")
        self._open: dict[int, _Asked] = {}

    def offer(self, client: MemoryClient) -> None:
        """Let a new client offer its item."""
        item = (len(self._clients) - 1) % _ITEMS
        client.offer(item, f"item = {item}", lambda _: ItemField({"item": item, "of": client.name}, [], b"", None))

    def send(self, client: MemoryClient, reached: set[str], now: float, *, is_quiet: bool) -> None:
        """Let a client, which is connected, request something; reached: the routers that it can reach."""
        item, number = self._random.randrange(_ITEMS), self._counts.requests
        holders = (each for each in self._clients.values() if item in each.offers and each is not client)
        is_held = any(each.router in reached and not each.is_disconnected for each in holders)
        client.request(number, Message({"item": item}), timeout=_TIMEOUT, is_fresh=self._random.random() < 0.5)
        assert client.end is not None
        self._open[number] = _Asked(client, client.end, item, now, is_quiet, is_held)
        self._counts.requests += 1

    def disturb(self) -> None:
        """Take note that something changes now."""
        self._collect()
        for asked in self._open.values():
            asked.is_quiet = False

    def settle(self, now: float) -> None:
        """Judge the requests that should have ended."""
        self._collect()
        for number, asked in list(self._open.items()):
            if asked.client.end is not asked.end:
                del self._open[number]  # nobody is there to be answered
            elif now - asked.at > _TIMEOUT + _SLACK:
                del self._open[number]
                self._counts.endless += 1
                self._counts.wrong(f"the request {number}, sent at {asked.at:.2f}, did not end")

    # --- inside

    def _collect(self) -> None:
        for client in self._clients.values():
            for answer in client.answers:
                if isinstance(answer, PullReply | PullFailure) and answer.number in self._open:
                    self._ended(self._open.pop(answer.number), answer)
            client.answers.clear()

    def _ended(self, asked: _Asked, answer: PullReply | PullFailure) -> None:
        counts = self._counts
        if isinstance(answer, PullReply):
            counts.replies += 1
            counts.from_caches += answer.cache != ""
            if answer.attributes.get("item") != asked.item:
                counts.spurious += 1
                counts.wrong(f"the request {answer.number} has a reply that does not match it")
            return
        counts.timeouts += answer.is_late
        counts.without += not answer.is_late
        if asked.is_quiet and asked.is_held:
            counts.unanswered_quiet += 1
            counts.wrong(f"the request {answer.number}, sent at {asked.at:.2f}, has no reply")
