"""Traces: what happened to a message on its way? Collected at the router where it began, for the client that asks.

Every router that a traced packet passes reports a `Hop` (`hops`). The reports say where the packet was sent on to, so
it is known who must still report; a trace ends when nobody must, or when its time is up.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from cbnet.errors import InputError
from cbnet.language.syntax.parser import parse
from cbnet.network.link.context import RouterContext
from cbnet.network.protocol.frames import Trace, TracedFrame, TraceEnd, TraceMark, TraceReport

_MOST_TRACES = 64


@dataclass
class _Trace:
    link: int
    number: int  # by which the client knows it
    deadline: float
    expected: Counter[tuple[str, str]] = field(default_factory=Counter)  # packets sent, less those reported

    def missing(self) -> list[str]:
        return sorted({to for (_, to), count in self.expected.items() if count > 0})


class Traces:
    """The traces that clients of this router have begun."""

    def __init__(self, context: RouterContext) -> None:
        self._context = context
        self._traces: dict[int, _Trace] = {}
        self._begun = 0

    def begin(self, link: int, frame: Trace) -> TraceMark:
        """Begin to collect reports on a message; return the mark for its packet."""
        if len(self._traces) >= _MOST_TRACES:
            raise InputError("too many traces at once", hint="wait for one to end")
        if bool(frame.predicate) != bool(frame.at):
            raise InputError("a supposed subscriber has a predicate and a router", hint="say both, or neither")
        parse(frame.predicate or "true")
        self._begun += 1
        trace = _Trace(link, frame.number, self._context.now + self._context.settings.trace)
        trace.expected["", self._context.name] += 1
        self._traces[self._begun] = trace
        return TraceMark(self._begun, frame.is_dry, frame.predicate, frame.at)

    def report(self, frame: TraceReport) -> None:
        """Take the report of a router."""
        trace = self._traces.get(frame.number)
        if trace is None:  # its time was up
            return
        hop = frame.hop
        self._context.outbox.send(trace.link, TracedFrame(trace.number, hop))
        trace.expected[hop.came_from, hop.router] -= 1
        for branch in hop.branches:
            trace.expected[hop.router, branch.neighbour] += branch.is_sent
        if not trace.missing():
            self._end(frame.number)

    def check(self) -> None:
        """End the traces whose time is up."""
        for number, trace in list(self._traces.items()):
            if self._context.now >= trace.deadline:
                self._end(number)

    def forget(self, link: int) -> None:
        """Forget the traces of a client that is gone."""
        self._traces = {number: trace for number, trace in self._traces.items() if trace.link != link}

    def _end(self, number: int) -> None:
        trace = self._traces.pop(number)
        self._context.outbox.send(trace.link, TraceEnd(trace.number, trace.missing()))
