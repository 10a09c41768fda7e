"""Traffic between the domains of a gateway: messages, requests and their answers, trace reports.

message    matches a subscription of another domain; it enters that domain and follows its trees. It keeps its identity
           (source, incarnation and number), so that no router handles it twice, whichever path it takes
request    matches an offer of another domain; the gateway makes the request there, and returns the answer. If there is
           no item, the next domain that offers it is tried, and then the rest of the domain it came from
report     of a traced message in another domain; it goes to the gateway there, and on to the domain that the message
           came from
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

from msgspec.structs import replace

from cbnet.network.link.actions import Action
from cbnet.network.protocol.fields import MAX_GATEWAYS
from cbnet.network.protocol.frames import Hop, NoItem, Packet, ReplyFrame, Request, TraceReport
from cbnet.network.protocol.pull_frames import Steps, with_step
from cbnet.network.router.gateway_port import GatewayPort
from cbnet.network.router.router import Router


class Side(Protocol):
    """A router in one of the domains, and its driver."""

    @property
    def router(self) -> Router:
        """The router."""

    @property
    def now(self) -> float:
        """The current time."""

    def perform(self, actions: Iterable[Action]) -> None:
        """Perform actions of the router."""


class Crossings:
    """The crossings of one gateway."""

    def __init__(
        self,
        name: str,
        sides: Sequence[Side],
        post: Callable[[int, Callable[[], None]], None],
        is_open: Callable[[int, int], bool],
    ) -> None:
        """Forward messages and requests between all sides.

        post: makes a call in a turn of the router of a side. is_open: returns whether this gateway joins two sides.
        """
        self._name = name
        self._sides = sides
        self._post = post
        self._is_open = is_open
        for number in range(len(sides)):
            port = self._port(number)
            port.forwarder.on_leave = partial(self._message, number)
            port.pulls.on_leave = partial(self._request, number)

    def _port(self, number: int) -> GatewayPort:
        return self._sides[number].router.gateway_port

    def _network(self, number: int) -> str:
        return self._sides[number].router.settings.network

    # --- messages

    def _message(self, of: int, packet: Packet, to: Sequence[int]) -> dict[int, str]:
        """Send a packet to other sides; return their networks."""
        entered = [on for on in to if self._is_open(of, on)]
        for on in entered:
            self._post(on, partial(self._port(on).forwarder.enter, packet, partial(self._report, of, on, packet)))
        return {on: self._network(on) for on in entered}

    def _report(self, of: int, on: int, packet: Packet, hop: Hop) -> None:
        """Send the report of a traced packet on one side to the side that it came from."""
        assert packet.mark is not None
        named = replace(hop, network=hop.network or self._network(on))
        report = TraceReport(packet.source, 0, packet.mark.number, named)
        self._post(of, partial(self._port(of).forwarder.report, report))

    # --- requests

    def _request(self, of: int, request: Request, to: Sequence[int]) -> bool:
        """Send a request to the other sides that offer it, one after the other; return whether there are any."""
        if self._name in request.gateways or len(request.gateways) >= MAX_GATEWAYS:
            return False
        offering = [on for on in to if self._is_open(of, on)]
        if offering:
            self._ask(of, request, offering)
        return bool(offering)

    def _ask(self, of: int, request: Request, sides: Sequence[int]) -> None:
        port, router = self._port(of), self._sides[of].router.settings.name
        if not sides:
            self._post(of, partial(port.pulls.go_on, request))
            return
        on, *others = sides
        asked = with_step(request, router, f"passed to {self._network(on)}, which offers it")
        answer = partial(self._answer, of, on, asked, others, self._sides[of].now)
        sent = replace(asked, gateways=[*request.gateways, self._name])
        self._post(on, partial(self._port(on).pulls.enter, sent, answer))

    def _answer(
        self, of: int, on: int, request: Request, others: Sequence[int], start: float, answer: ReplyFrame | NoItem
    ) -> None:
        """Return the answer to a request; if there is no item, try other sides."""
        steps = self._named_steps(on, request, answer)
        if isinstance(answer, ReplyFrame):
            incarnation, number = request.incarnation, request.number
            reply = replace(answer, to=request.source, hops=0, incarnation=incarnation, number=number, steps=steps)
            self._post(of, partial(self._port(of).pulls.handle_reply, reply))
            return
        left = request.timeout - round((self._sides[of].now - start) * 1000)
        if left > 0:  # else the requester has given up
            tried = replace(request, tried=answer.tried, asked=answer.asked, timeout=left, steps=steps)
            self._ask(of, tried, others)

    def _named_steps(self, on: int, request: Request, answer: ReplyFrame | NoItem) -> Steps:
        """Return the steps of a request and its answer, with the network of those on another side."""
        if request.steps is None or answer.steps is None:
            return None
        network, there = self._network(on), answer.steps[len(request.steps) :]
        return [*request.steps, *(replace(step, network=step.network or network) for step in there)]
