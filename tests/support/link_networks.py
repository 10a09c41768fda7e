"""Networks of routers that only keep links and exchange link records, with a simulated clock."""

import random
from collections import deque

from cbnet.network.link.context import RouterContext, Send
from cbnet.network.link.links import LinkTable
from cbnet.network.link.settings import Settings
from cbnet.network.linkstate.database import Database
from cbnet.network.linkstate.link_records import LinkRecords, OwnLinks
from cbnet.network.protocol.frames import Hello, LinkRecord, Ping, Pong, RecordRequest, RecordSummary
from cbnet.network.security.access import OPEN_ACCESS


class LinkRouter:
    """The part of a router that knows the topology."""

    def __init__(self, name="a", incarnation=100, access=OPEN_ACCESS, **settings):
        self.context = RouterContext(Settings(name, **settings), incarnation)
        self.database = Database(self.context.settings.lifetime)
        self.links = LinkTable(self.context, access)
        self.own = OwnLinks(self.context, self.links)
        self.records = LinkRecords(self.context, self.links, self.database, self.own)
        self.context.clock.advance(0.0)
        self.tick(0.0)

    def open(self, link):
        self.links.open(link)
        return self._done()

    def say(self, link, *frames):
        """Handle frames of a peer; return the actions."""
        for frame in frames:
            known = self.links.get(link)
            if known is None:
                break
            known.last_received = self.context.now
            if isinstance(frame, Hello):
                self.links.accept_hello(known, frame)
                self.records.greet(link)
            elif isinstance(frame, Ping):
                self.context.outbox.send(link, Pong(frame.number))
            elif isinstance(frame, Pong):
                self.links.accept_pong(known, frame)
            elif isinstance(frame, LinkRecord):
                self.records.record(link, frame)
            elif isinstance(frame, RecordSummary):
                self.records.summary(link, frame)
            elif isinstance(frame, RecordRequest):
                self.records.request(link, frame)
        return self._done()

    def greet(self, link, name, incarnation=1, peer_link=1, **changes):
        """Open a link to a router whose frames the test writes."""
        return self.open(link) + self.say(link, hello_of(name, incarnation, peer_link, **changes))

    def close(self, link):
        self.links.remove(link)
        return self._done()

    def tick(self, now):
        self.context.clock.advance(now)
        self.links.check_liveness()
        self.records.check()
        return self._done()

    def wait(self, seconds, answering=()):
        """Let time pass in small steps, while some peers answer; return the actions."""
        done, end = [], self.context.now + seconds - 1e-9
        while self.context.now < end:
            done += self.tick(self.context.now + 0.05)
            for link in answering:
                done += self.say(link, Pong(0))
        return done

    def _done(self):
        self.records.originate()
        self.records.request_missing()
        return self.context.outbox.take()


def hello_of(name, incarnation=1, link=1, *, low=5, high=5, role="router", network="cbnet", scheme="multitree:1"):
    return Hello(
        low=low, high=high, role=role, name=name, network=network, incarnation=incarnation, link=link, scheme=scheme
    )


class LinkNetwork:
    """Routers in memory; frames arrive in order on each link, and in random order otherwise."""

    def __init__(self, links, seed=0, *, access=lambda _: OPEN_ACCESS, **settings):
        """Create routers linked as in `a-b b-c`; access: returns the access rules of a router."""
        self._random = random.Random(seed)
        self._access = access
        self._settings = settings
        self.now = 0.0
        self.routers = {}
        self._wires = {}  # (router, its link) -> (other router, its link), both ways
        self._queues = {}  # (receiver, its link) -> frames
        self._numbers = 0
        self.sent = 0  # frames
        pairs = [pair.split("-") for pair in links.split()]
        for name in sorted({name for pair in pairs for name in pair}):
            self.start(name)
        for pair in pairs:
            self.connect(*pair)
        self.run(1.0)

    def start(self, name, *, key=None, incarnation=None):
        """Start a router; `key` identifies it in the test if its name does not."""
        incarnation = self._random.randrange(1 << 63) if incarnation is None else incarnation
        router = self.routers[key or name] = LinkRouter(name, incarnation, self._access(name), **self._settings)
        router.context.clock.advance(self.now)
        return router

    def connect(self, a, b):
        ends = []
        for key in (a, b):
            self._numbers += 1
            ends.append((key, self._numbers))
        for end, other in (ends, ends[::-1]):
            self._wires[end], self._queues[end] = other, deque()
        for key, link in ends:
            self._perform(key, self.routers[key].open(link))

    def cut(self, a, b):
        """Cut all links between two routers; both notice at once."""
        for end, other in list(self._wires.items()):
            if (end[0], other[0]) in ((a, b), (b, a)):
                del self._wires[end], self._queues[end]
                if end[0] in self.routers:
                    self._perform(end[0], self.routers[end[0]].close(end[1]))

    def kill(self, name):
        router = self.routers.pop(name)
        for other in list(self.routers):
            self.cut(name, other)
        return router

    def inject(self, sender, frame):
        """Send a frame of a malicious router over all its links."""
        for link in self.routers[sender].links.routers():
            self._perform(sender, [Send(link, frame)])

    def run(self, seconds):
        end = self.now + seconds - 1e-9
        while self.now < end:
            self.now += 0.05
            for key, router in list(self.routers.items()):
                self._perform(key, router.tick(self.now))
            self.deliver()

    def deliver(self, most=100_000):
        """Deliver what is on the way, in random order, without time passing."""
        for _ in range(most):
            ready = [end for end, queue in self._queues.items() if queue]
            if not ready:
                return
            key, link = end = self._random.choice(ready)
            self._perform(key, self.routers[key].say(link, self._queues[end].popleft()))
        raise AssertionError("frames go round for ever")

    def _perform(self, key, actions):
        for action in actions:
            if isinstance(action, Send):
                other = self._wires.get((key, action.link))
                if other is not None:
                    self.sent += 1
                    self._queues[other].append(action.frame)

    # --- what the routers know

    def record(self, at, owner):
        """Return a router's record at another one: version and content."""
        record = self.routers[at].database.record(owner, self.now)
        return None if record is None else (record.incarnation, record.sequence, record.changes, record.neighbours)

    def is_agreed(self, owner):
        """Return whether all routers have the record that its owner made last."""
        true = self.record(owner, owner)
        own = self.routers[owner]
        assert true is not None
        assert true[0] == own.context.incarnation
        assert true[3] == own.links.neighbours()
        return all(self.record(at, owner) == true for at in self.routers)
