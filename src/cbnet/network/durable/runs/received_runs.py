"""Runs of messages from neighbours: stored by the own home, and forwarded to others, as a whole.

PacketRun ──► what each message matches ──► all alike here, and nothing unusual? ──► log, and onward as it came
│ no
its packets, one by one
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import msgspec

from cbnet.errors import InputError
from cbnet.network.durable.held_home import HeldHome
from cbnet.network.durable.home_log.message_run import Run
from cbnet.network.durable.runs.run_kinds import Kind, RunKinds
from cbnet.network.forwarding.forwarder import Forwarder
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.link.counters import DropReason, Event
from cbnet.network.link.link import Link
from cbnet.network.protocol.content import check_nested
from cbnet.network.protocol.fields import MAX_HOPS
from cbnet.network.protocol.frames import PacketRun, Stored
from cbnet.network.protocol.wire import WireError


class ReceivedRuns:
    """The runs that one router gets from its neighbours."""

    def __init__(
        self, core: RouterCore, forwarder: Forwarder, kinds: RunKinds, answer: Callable[[Stored], None]
    ) -> None:  # fmt: skip
        """Initialise; answer: sends the answer of the own home to the router where messages were published."""
        self._core = core
        self._forwarder = forwarder
        self._duplicates = forwarder.fast.path.duplicates
        self._kinds = kinds
        self._answer = answer

    def receive(self, link: Link, frame: PacketRun, own: HeldHome | None) -> None:
        """Handle a run of a neighbour; own: the home of this router, if it holds one."""
        numbers = self._kinds.match(frame.contents)
        if numbers is None:
            self._receive_each(link, frame)
        elif not self._is_done(link, frame, numbers, own):
            self._kinds.reader.undo_matches(len(numbers))
            self._receive_each(link, frame)

    def _receive_each(self, link: Link, frame: PacketRun) -> None:
        """Handle the packets of a run one by one."""
        try:
            packets = [*frame.packets()]
            for packet in packets:
                check_nested(packet.attributes)
        except (msgspec.DecodeError, InputError) as error:
            raise WireError(f"invalid packet: {error}") from None
        for packet in packets:
            self._forwarder.packet(link.name, packet)

    def _is_done(self, link: Link, frame: PacketRun, numbers: list[int], own: HeldHome | None) -> bool:
        """Store and forward a run; return False, without any effect, if its packets are to be handled one by one."""
        kinds = {number: self._kinds.of(number) for number in {*numbers}}
        homes, is_here = frame.durable.homes, self._core.home in frame.durable.homes
        if frame.durable.is_repeated or frame.hops >= MAX_HOPS:
            return False
        if not all(kind.is_usual and bool(kind.durable) == is_here for kind in kinds.values()):
            return False
        tree = self._core.versions.tree_for(link.name, frame.side, frame.tree)
        branches = None if tree is None else self._kinds.branches(tree, kinds.values(), homes, link.name)
        if branches is None or (is_here and (own is None or not self._store(own, frame, numbers, kinds))):
            return False
        count = len(numbers)
        new = self._duplicates.record_run("", frame.incarnation, frame.tree, frame.number, count)
        counters = self._core.counters
        counters[Event.PACKETS_RECEIVED] += count
        counters[Event.MATCHED] += new if is_here else 0
        if new < count:
            counters[DropReason.DUPLICATE.key] += count - new
        self._forwarder.send_run(frame, branches)
        return True

    def _store(self, own: HeldHome, frame: PacketRun, numbers: list[int], kinds: Mapping[int, Kind]) -> bool:
        """Store a run at the own home, and answer the router where it was published."""
        if not own.home.has_settled(frame.incarnation, frame.durable.homes[self._core.home]):
            return False
        run = Run(
            end=0,
            publisher=0,  # only the router where it was published knows it
            first=frame.number,
            floor=frame.durable.floor,
            timeout=0.0,
            required=frame.durable.required,
            kinds=numbers,
            contents=frame.contents,
        )
        answers = self._kinds.store(own, run, kinds, frame.incarnation, frame.source)
        if answers is None:
            return False
        own.queue.after(partial(self._answer, Stored(frame.source, 0, self._core.home, [], runs=answers)))
        return True
