"""Traces of messages, collected for a client at the router where it publishes.

Every router that a traced packet passes reports a `Hop` (`trace_steps`). The reports list the next hops, so the
collector knows which reports are missing; a trace ends when none is, or by timeout. In another domain the reports go to
the gateway that brought the packet there, which relays them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from cbnet.errors import InputError
from cbnet.language.syntax.parser import parse
from cbnet.network.link.context import RouterContext
from cbnet.network.link.link import Link
from cbnet.network.link.links import LinkTable
from cbnet.network.protocol.frames import Hop, Trace, TracedFrame, TraceEnd, TraceMark, TraceReport

_MAX_TRACES = 64


class _Relay(NamedTuple):
    relay: Callable[[Hop], None]
    deadline: float


@dataclass
class _Trace:
    link: int
    number: int  # chosen by the client
    deadline: float
    expected: Counter[tuple[str, str, str]] = field(
        default_factory=Counter
    )  # by network, sender and receiver: packets sent minus reports; both "" where it began, or entered the network

    def missing(self) -> list[str]:
        """Return the routers whose reports are missing, each with its network if it is in another one."""
        return sorted({_name(*key) for key, count in self.expected.items() if count > 0})


class Traces:
    """The running traces of this router's clients."""

    def __init__(self, context: RouterContext, links: LinkTable) -> None:
        self._context = context
        links.on_closed.append(self._link_closed)
        self._traces: dict[int, _Trace] = {}
        self._relays: dict[int, _Relay] = {}
        self._count = 0

    def begin(self, link: int, frame: Trace) -> TraceMark:
        """Start collecting reports on a message; return the mark for its packet."""
        if len(self._traces) >= _MAX_TRACES:
            raise InputError("too many traces at once", hint="wait for one to end")
        if bool(frame.predicate) != bool(frame.at):
            raise InputError("a hypothetical subscriber needs a predicate and a router", hint="give both, or neither")
        parse(frame.predicate or "true")
        self._count += 1
        trace = _Trace(link, frame.number, self._context.now + self._context.settings.trace)
        trace.expected["", "", ""] += 1
        self._traces[self._count] = trace
        return TraceMark(self._count, frame.is_dry, frame.predicate, frame.at)

    def relay(self, relay: Callable[[Hop], None]) -> int:
        """Return the number for the mark of a packet from another domain; relay: called with each report on it."""
        self._count += 1
        self._relays[self._count] = _Relay(relay, self._context.now + self._context.settings.trace)
        return self._count

    def report(self, frame: TraceReport) -> None:
        """Handle the report of a router."""
        if frame.number in self._relays:
            self._relays[frame.number].relay(frame.hop)
            return
        trace = self._traces.get(frame.number)
        if trace is None:  # it has timed out
            return
        hop = frame.hop
        self._context.outbox.send(trace.link, TracedFrame(trace.number, hop))
        trace.expected[hop.network, hop.came_from, hop.router if hop.came_from else ""] -= 1
        for branch in hop.branches:
            trace.expected[hop.network, hop.router, branch.neighbour] += branch.is_sent
        for passed in hop.passed_to:
            trace.expected[passed.neighbour, "", ""] += 1
        if not trace.missing():
            self._end(frame.number)

    def check(self) -> None:
        """End the traces that have timed out."""
        for number, trace in list(self._traces.items()):
            if self._context.now >= trace.deadline:
                self._end(number)
        for number in [each for each, relay in self._relays.items() if self._context.now >= relay.deadline]:
            del self._relays[number]

    def _link_closed(self, link: Link) -> None:
        self._traces = {number: trace for number, trace in self._traces.items() if trace.link != link.id}

    def _end(self, number: int) -> None:
        trace = self._traces.pop(number)
        self._context.outbox.send(trace.link, TraceEnd(trace.number, trace.missing()))


def _name(network: str, came_from: str, router: str) -> str:
    if not came_from:
        return f"the gateway to {network}"
    return f"{network}/{router}" if network else router
