"""The ledger of requests: clients offer items and request those of others, and every outcome is checked.

A request must end: with a matching reply, with the answer that there is no holder, or with a timeout; unless the
requester has lost its connection. In a quiet network a request with a reachable holder must end with a reply.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from cbnet.language.message import Message
from cbnet.network import MemoryClient
from cbnet.network.protocol.frames import ItemField, PullFailure, PullReply
from cbnet.network.simulation.memory_network import ConnectionEnd
from cbnet_lab.faults.soak.delivery_ledger import SoakCounts

_ITEMS = 10  # each offered by every tenth client
_TIMEOUT = 5.0  # seconds
_SLACK = 4.0  # seconds of additional delay: on links, and for stalled clients


@dataclass
class _PendingRequest:
    """A request that has not ended."""

    client: MemoryClient
    end: ConnectionEnd  # of the connection it was sent on
    item: int
    at: float
    is_quiet: bool
    is_held: bool  # by a reachable client


class RequestLedger:
    """The requests of all clients and their outcomes."""

    def __init__(self, clients: Mapping[str, MemoryClient], counts: SoakCounts, seed: int) -> None:
        self._clients = clients
        self._counts = counts
        self._random = Random(f"requests {seed}")
        self._open: dict[int, _PendingRequest] = {}

    def offer(self, client: MemoryClient) -> None:
        """Let a new client offer its item."""
        item = (len(self._clients) - 1) % _ITEMS
        client.offer(item, f"item = {item}", lambda _: ItemField({"item": item, "of": client.name}, [], b"", None))

    def send(self, client: MemoryClient, reached: set[str], now: float, *, is_quiet: bool) -> None:
        """Send a request from a connected client; `reached` are the routers that it can reach."""
        item, number = self._random.randrange(_ITEMS), self._counts.requests
        holders = (each for each in self._clients.values() if item in each.offers and each is not client)
        is_held = any(each.router in reached and not each.is_disconnected for each in holders)
        client.request(number, Message({"item": item}), timeout=_TIMEOUT, is_fresh=self._random.random() < 0.5)
        assert client.end is not None
        self._open[number] = _PendingRequest(client, client.end, item, now, is_quiet, is_held)
        self._counts.requests += 1

    def disturb(self) -> None:
        """Record a change of the network."""
        self._collect()
        for request in self._open.values():
            request.is_quiet = False

    def settle(self, now: float) -> None:
        """Check the requests whose time is over."""
        self._collect()
        for number, request in list(self._open.items()):
            if request.client.end is not request.end:
                del self._open[number]  # the requester is gone
            elif now - request.at > _TIMEOUT + _SLACK:
                del self._open[number]
                self._counts.endless += 1
                self._counts.add_example(f"request {number}, sent at {request.at:.2f}, did not end")

    def _collect(self) -> None:
        for client in self._clients.values():
            for answer in client.answers:
                if isinstance(answer, PullReply | PullFailure) and answer.number in self._open:
                    self._ended(self._open.pop(answer.number), answer)
            client.answers.clear()

    def _ended(self, request: _PendingRequest, answer: PullReply | PullFailure) -> None:
        counts = self._counts
        if isinstance(answer, PullReply):
            counts.replies += 1
            counts.from_caches += answer.cache != ""
            if answer.attributes.get("item") != request.item:
                counts.spurious += 1
                counts.add_example(f"request {answer.number} has a reply that does not match it")
            return
        counts.timeouts += answer.is_late
        counts.without += not answer.is_late
        if request.is_quiet and request.is_held:
            counts.unanswered_quiet += 1
            counts.add_example(f"request {answer.number}, sent at {request.at:.2f}, has no reply")
