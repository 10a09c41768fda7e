"""A ring of router processes that saturate each other in all directions, for a given time.

    python -m lab.tests.support.saturated_ring --seconds 300

Each router sends to each other one, over as many trees as there are routers, as much as the routers accept. Every message
must arrive once, in order, byte by byte; no router may drop any, close a link or fail to answer. It prints the figures of
a run, and fails if something went wrong.
"""

import argparse
import asyncio
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import permutations
from string import ascii_uppercase

from cbnet.network import ProcessNetwork, connect_async
from cbnet.network.errors import NotConnected
from cbnet.network.link.counters import Event, drops
from cbnet.network.protocol.frames import Ping
from cbnet.network.protocol.wire import encode
from cbnet.topology import topology
from cbnet_lab.bench.processes import SPAWN, WorkerProcess
from cbnet_lab.bench.router.generators import Publisher, Receiver, serve
from cbnet_lab.bench.router.load import Load, LoadProgress, Target
from cbnet_lab.bench.router.router_client import RouterClient
from cbnet_lab.bench.router.wire_formats import FORMATS, CbnetFormat

PAYLOAD = 1_000  # bytes
DEAD = 60.0  # seconds of silence before a link is closed: the system may stop a router for 15, if much else is runnable
KEEP_ALIVE = 1.0  # seconds between the pings of a client that only receives
QUERY = 0.5  # seconds between two queries of the same router
TIMEOUT = 90.0  # seconds for the answer to a query
LINK_EVENTS = (Event.LINKS_FAILED, Event.LINKS_TOO_SLOW, Event.LINKS_SILENT)


class FlowFormat(CbnetFormat):
    """A router whose publishers have names of their own: the name selects the tree."""

    def open_publisher(self, link, _):
        RouterClient(link, f"publisher-{self._channel}")


FORMATS["flow"] = FlowFormat


class FlowPublisher(Publisher):
    """A publisher of this module: its process imports the module, and so knows the format."""


class LivingReceiver(Receiver):
    """A receiver that the router does not take for dead."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        threading.Thread(target=self._keep_alive, daemon=True).start()

    def _keep_alive(self):
        while True:
            for stream in self.streams:
                stream.link.send(memoryview(encode(Ping(0))))
            time.sleep(KEEP_ALIVE)


class Flow:
    """A publisher at one router and a subscriber at another, in processes of their own."""

    def __init__(self, source, target, channel):
        self.source, self.target = source, target
        self._progress = SPAWN.RawValue(LoadProgress)
        self._load = Load(payload=PAYLOAD, batch=50, channel=channel)
        self._receiver = WorkerProcess("a load generator", serve, LivingReceiver, self._progress)
        self._publisher = WorkerProcess("a load generator", serve, FlowPublisher, self._progress)

    def open(self, addresses):
        """Subscribe, confirmed by all routers, then connect the publisher."""
        for process, name in ((self._receiver, self.target), (self._publisher, self.source)):
            process.call(("flow", "open", Target("flow", addresses[name].port), self._load))

    def begin(self, seconds):
        """Begin to publish."""
        self._progress.reset()
        self._receiver.send(("flow", "run"))
        self._publisher.send(("flow", "run", None, seconds))

    def result(self):
        """Return the numbers of messages sent and received, and what went wrong."""
        sent, received = self._publisher.receive(), self._receiver.receive()
        return sent.messages, received.messages, sent.problem or received.problem

    def close(self):
        """End both processes."""
        self._publisher.close()
        self._receiver.close()


@dataclass
class RingOutcome:
    """Measurements of a run."""

    routers: int
    flows: int
    seconds: float
    sent: int = 0
    received: int = 0
    least: int = 0  # messages of the flow with the fewest
    problems: list[str] = field(default_factory=list)
    longest_answer: float = 0.0  # seconds, of a router to a query
    longest_queue: int = 0  # bytes, of a router for a neighbour
    dropped: Counter = field(default_factory=Counter)  # messages, by reason
    links: Counter = field(default_factory=Counter)  # failures of links
    megabytes: dict = field(default_factory=dict)  # sent over each link and direction

    @property
    def is_right(self):
        """Whether everything arrived as it must, over links that all carried messages."""
        is_calm = not (self.problems or self.dropped or any(self.links.values()))
        return is_calm and self.sent == self.received > 0 and self.least > 0 and min(self.megabytes.values()) > 0

    def lines(self):
        """Return the outcome for people."""
        yield f"ring of {self.routers} routers, {self.flows} flows, {self.seconds:.0f} s, {PAYLOAD} bytes of payload"
        yield f"{self.sent:,} messages sent, {self.received:,} received in order; fewest of a flow: {self.least:,}"
        yield f"longest answer {self.longest_answer * 1000:,.0f} ms, longest queue {self.longest_queue:,} bytes"
        yield f"dropped: {dict(self.dropped) or 'nothing'}; failures of links: {dict(+self.links) or 'none'}"
        yield "MB over links: " + ", ".join(f"{a}→{b} {count:,}" for (a, b), count in sorted(self.megabytes.items()))
        yield from self.problems


def saturate(routers, seconds):
    """Saturate a ring; return the outcome."""
    with ExitStack() as stack:
        graph = topology(f"ring:{routers}")
        network = stack.enter_context(ProcessNetwork.of(graph, trees=routers, dead=DEAD, silence=2 * DEAD))
        network.wait(60)
        flows = []
        for number, (source, target) in enumerate(permutations(network.addresses, 2)):
            first, second = divmod(number, len(ascii_uppercase))
            flows.append(Flow(source, target, ascii_uppercase[first] + ascii_uppercase[second]))
            stack.callback(flows[-1].close)
        for flow in flows:
            flow.open(network.addresses)
        outcome = RingOutcome(routers, len(flows), seconds)
        began = time.monotonic()
        for flow in flows:
            flow.begin(seconds)
        asyncio.run(_observe(network, outcome, began + seconds))
        _finish(flows, outcome)
        outcome.seconds = time.monotonic() - began
        asyncio.run(_observe(network, outcome, 0.0))
    return outcome


def _finish(flows, outcome):
    counts = []
    for flow in flows:
        sent, received, problem = flow.result()
        outcome.sent += sent
        outcome.received += received
        counts.append(received)
        if problem is not None:
            outcome.problems.append(f"{flow.source}→{flow.target}: {problem}")
    outcome.least = min(counts)


async def _observe(network, outcome, end):
    """Query every router again and again, at least once; keep the longest answer and queue, and the last counters."""
    last = await asyncio.gather(*(_query(str(each), outcome, end) for each in network.addresses.values()))
    outcome.dropped = sum((Counter(drops(status.counters)) for status in last), Counter())
    outcome.links = sum(
        (Counter({key: status.counters.get(key, 0) for key in LINK_EVENTS}) for status in last), Counter()
    )
    outcome.megabytes = {
        (status.router, peer.name): peer.sent >> 20 for status in last for peer in status.peers if peer.role == "router"
    }


async def _query(address, outcome, end):
    async with await connect_async(address, name="observer", timeout=TIMEOUT) as client:
        while True:
            began = time.monotonic()
            status = None
            while status is None:
                assert time.monotonic() - began < 2 * TIMEOUT, f"{address} does not answer"
                with suppress(NotConnected):  # of a router that the busy processors left silent; the time counts
                    status = await client.status(TIMEOUT)
            outcome.longest_answer = max(outcome.longest_answer, time.monotonic() - began)
            queues = (peer.waiting for peer in status.peers if peer.role == "router")
            outcome.longest_queue = max(outcome.longest_queue, *queues)
            if time.monotonic() >= end:
                return status
            await asyncio.sleep(QUERY)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--routers", type=int, default=4)
    options = parser.parse_args()
    outcome = saturate(options.routers, options.seconds)
    print("\n".join(outcome.lines()))
    return 0 if outcome.is_right else 1


if __name__ == "__main__":
    sys.exit(main())
