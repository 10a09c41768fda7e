"""Two routers that get the same bytes, one with the fast path and one without: what leaves must be the same.

    python -m tests.support.twin_routers --seconds 600

It prints how many frames left, and how many bytes took the fast path; at the first difference it fails. `--seed` repeats
a run.
"""

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

import msgspec
from support.memory_networks import encoded, hello

from cbnet import parse
from cbnet.language.syntax.byte_form import predicate_to_bytes
from cbnet.network.announce.announcements import NodeData
from cbnet.network.forwarding.forwarding_table import InternalSubscriber
from cbnet.network.link.counters import Event
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import (
    Announce,
    Close,
    LinkField,
    LinkRecord,
    Packet,
    Ping,
    Pong,
    Publish,
    StreamChange,
    Subscribe,
    Trace,
    TraceMark,
    Unsubscribe,
)  # fmt: skip
from cbnet.network.protocol.wire import FrameReader, encode
from cbnet.network.router.router import Router
from cbnet.network.security.access import Access
from cbnet.network.security.rights import ALL_RIGHTS, Rights
from cbnet.network.simulation.byte_router import ByteRouter

NAMES = ["x", "y", "dest", "price", "é", "long name of an attribute", ""]
TEXTS = ["", "MXP", "MX", "ünï", "a" * 40, "\U0001f600z", "b" * 300]
RIGHTS = {"r": Rights(publish=parse('x > 0 or dest = "MXP"'), text=60), "t": Rights(text=20)}
CLIENTS = ["a", "b", "r", "t"]
ROUTERS = ["n", "s"]


class _Access(Access):
    """Gives some clients few rights."""

    def admit(self, hello, _):
        return hello.name, RIGHTS.get(hello.name, ALL_RIGHTS)


class TwinRouters:
    """A router with the fast path, and one without."""

    def __init__(self, settings, data):
        self.now = 0.0
        self.twins = [ByteRouter(Router(settings, 77, _Access(), data), is_fast=is_fast) for is_fast in (True, False)]
        self.out = [{}, {}]  # bytes, by link
        self.ended = [set(), set()]  # links that the router has closed

    @property
    def router(self):
        """The router without the fast path."""
        return self.twins[1].router

    def do(self, call):
        for twin, out, ended in zip(self.twins, self.out, self.ended, strict=True):
            for sent in call(twin):
                out.setdefault(sent.link, bytearray()).extend(sent.data)
                if sent.is_last:
                    ended.add(sent.link)

    def tick(self):
        self.now += 0.1
        self.do(lambda twin: twin.performed(twin.router.tick(self.now)))

    def check(self, seed):
        """Raise an AssertionError unless all that left, and all that was counted, is the same."""
        assert self.ended[0] == self.ended[1], seed
        fast, plain = ({link: frames(data) for link, data in out.items()} for out in self.out)
        for link in plain:
            for place, (one, other) in enumerate(zip(fast[link], plain[link], strict=False)):
                assert one == other, (seed, link, place)
        assert fast == plain, seed
        one, other = (Counter(twin.router.counters) for twin in self.twins)
        for counters, twin in zip((one, other), self.twins, strict=True):
            counters[Event.MATCHES] = twin.router.fib.table.times()[Event.MATCHES]
        assert +one == +other, (seed, one - other, other - one)


def frames(data):
    reader = FrameReader()
    return list(reader.feed(bytes(data)))


class TwinStream:
    """A random stream of frames, good and bad, in chunks of any size, for both routers."""

    def __init__(self, seed):
        self.seed = seed
        self.random = random = Random(seed)
        self.has_conditions = random.random() < 0.2  # then Python matches all messages
        settings = Settings(
            "me", heartbeat=1e6, dead=2e6, silence=3e6, overlap=random.choice([0.0, 1.0]), trees=random.choice([1, 2]),
            commit=random.choice(["publisher", "message"]),
        )  # fmt: skip
        loaded = parse(self.predicate()) if random.random() < 0.3 else parse("false")
        self.net = TwinRouters(settings, NodeData(predicate=loaded))
        self.links = {}  # by the name of the peer
        self.incarnations = 0
        self.count = 0  # of links
        self.number = 0
        self.sent = []  # frames of all kinds, some of which come again with changes
        for name in CLIENTS:
            self.client(name)
        self.neighbours = ROUTERS if random.random() < 0.8 else []
        for name in self.neighbours:
            self.neighbour(name)
        if random.random() < 0.3:
            wanted = predicate_to_bytes(self.predicate())
            for twin in self.net.twins:
                twin.router.subscriptions.set(InternalSubscriber.OTHER_DOMAINS, 0, wanted)
        self.wait(20)

    # --- peers

    def open(self, name):
        self.count += 1
        link = self.links[name] = self.count
        self.net.do(lambda twin: twin.opened(link, self.net.now))
        return link

    def client(self, name):
        self.open(name)
        self.say(name, hello("client", name, incarnation=0, link=0, scheme=""))
        for id in range(self.random.randrange(4)):
            self.say(name, Subscribe(id, self.predicate(), 0))

    def neighbour(self, name):
        link = self.open(name)
        self.incarnations += 1
        routing = self.net.router.settings.routing
        self.say(name, hello("router", name, incarnation=self.incarnations, link=1, scheme=routing))
        session = self.net.router.links.get(link).session
        self.say(name, LinkRecord(name, self.incarnations, 1, 1, 0, {"me": LinkField(1, [session])}))
        self.wait(2)
        self.announce(name, 1)

    def announce(self, name, number):
        filters = [self.predicate(is_filter=True) for _ in range(self.random.randrange(4))]
        for tree in self.net.router.version.trees:
            if name in tree.links:
                change = StreamChange(
                    number + tree.number, 1, tree.links[name].far_key, 0, list(range(len(filters))), [], True
                )
                self.say(name, Announce(encoded(*filters), [], [change], []))

    def close(self, name):
        link = self.links.pop(name)
        self.net.do(lambda twin: twin.closed(link, self.net.now))

    def say(self, name, *all):
        frames = [*map(encode, all)]
        self.sent[:] = (self.sent + frames)[-100:]
        self.feed(name, b"".join(frames))

    def feed(self, name, data):
        link, random = self.links[name], self.random
        while data:
            piece, data = data[: (size := random.choice([1, 3, 50, 1000, 10**6]))], data[size:]
            self.net.do(lambda twin, piece=piece: twin.received(link, piece, self.net.now))

    def wait(self, ticks):
        for _ in range(ticks):
            self.net.tick()

    # --- content

    def value(self):
        choose = self.random.choice
        kind = self.random.randrange(6)
        if kind == 0:
            return self.random.randrange(-3, 6)
        if kind == 1:
            return choose([2**31, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63), 255, 256, 65536, -129])
        if kind == 2:
            return choose([0.5, -0.0, 1.0, 2.0**53, 1e300, 3.0])
        return choose([True, False, None]) if kind == 3 else choose(TEXTS)

    def constraint(self):
        choose = self.random.choice
        name = choose([name for name in NAMES if name.isidentifier() and name.isascii()])
        op = choose(["=", "!=", "<", "<=", ">", ">=", "^=", "$=", "*=", "exists"])
        if op == "exists":
            return f"exists {name}"
        value = choose(TEXTS) if op in ("^=", "$=", "*=") else choose([1, 2, 0.5, 2**53 + 1, True, *TEXTS])
        if value is True:
            op = "="
        return f"{name} {op} {json.dumps(value, ensure_ascii=False)}"

    def predicate(self, *, is_filter=False):
        random = self.random
        parts = [self.constraint() for _ in range(random.randrange(4))] + [
            f"#{t}" for t in "ab" if random.random() < 0.2
        ]
        if not is_filter and self.has_conditions and random.random() < 0.05:
            parts.append("x < y")
        return " and ".join(parts) or "true"

    def message(self):
        random = self.random
        attributes = {random.choice(NAMES): self.value() for _ in range(random.randrange(6))}
        if random.random() < 0.02:
            attributes["#"] = 1
        if random.random() < 0.05:
            attributes[random.choice(NAMES)] = random.choice([[1, 2], {"x": 1}, [{"y": "MXP"}]])
        if random.random() < 0.02:
            attributes |= {f"n{i}": i for i in range(random.choice([20, 256, 257]))}
        tags = random.sample(["a", "b", "c", "a"], random.randrange(4))
        return attributes, tags, bytes(random.randrange(300))

    def packet(self, name):
        random, router = self.random, self.net.router
        self.number = max(0, self.number + random.choice([1, 1, 1, 0, -1, 20, 9000, -9000]))
        sides = [tree.links[name].near for tree in router.version.trees if name in tree.links]
        extra = random.choice([{}, {}, {"origin": "far"}, {"origin": "é" * 40}])
        if random.random() < 0.02:
            extra = {"mark": TraceMark(3, random.random() < 0.5)}
        return Packet(
            source=random.choice(["n", "s", "far", "me", "é" * 20, "x" * 64]),
            incarnation=random.choice([5, 2**62]),
            number=self.number,
            hops=random.choice([0, 1, 126, 127, 128, 254, 255]),
            tree=random.choice([0, 0, 1, 63]),
            side=random.choice([*sides, *sides, *sides, 12345]),
            tries=random.choice([0, 0, 0, 3]),
            **dict(zip(("attributes", "tags", "payload"), self.message(), strict=True)),
            **extra,
        )

    # --- bytes

    def broken(self, data):
        """Return a frame in which something was changed."""
        body, random = bytearray(data[4:]), self.random
        for _ in range(random.randrange(1, 3)):
            at = random.randrange(len(body))
            how = random.randrange(4)
            if how == 0:
                body[at] = random.randrange(256)
            elif how == 1:
                del body[at]
            elif how == 2:
                body.insert(at, random.randrange(256))
            else:
                body[at:at] = body[at : at + 5]
            body = body or bytearray(1)
        return len(body).to_bytes(4) + bytes(body)

    def unusual(self):
        """Return a Publish whose bytes are longer than needed, perhaps with a name that stands twice."""
        random = self.random
        attributes, tags, payload = self.message()

        def text(value):
            data = value.encode()
            return random.choice([b"\xda" + len(data).to_bytes(2), b"\xdb" + len(data).to_bytes(4)]) + data

        pairs = [*attributes.items()]
        pairs += pairs[:1] if random.random() < 0.5 else []
        members = b"".join(
            text(name) + (text(value) if isinstance(value, str) else msgspec.msgpack.encode(value))
            for name, value in pairs
        )
        body = b"\x96\x16" + msgspec.msgpack.encode(random.choice([0, 7, 2**40])) + b"\xde" + len(pairs).to_bytes(2)
        body += members + b"\xdc" + len(tags).to_bytes(2) + b"".join(map(text, tags))
        body += b"\xc6" + len(payload).to_bytes(4) + payload + random.choice([b"\xc2", b"\xc3"])
        return len(body).to_bytes(4) + body

    # --- the stream

    def step(self):
        random = self.random
        for name in CLIENTS:
            if name not in self.links or self.links[name] in self.net.ended[1]:
                self.client(name)
        for name in self.neighbours:
            if name not in self.links or self.links[name] in self.net.ended[1]:
                self.links.pop(name, None)
                if random.random() < 0.1:
                    self.neighbour(name)
        routers = [name for name in self.neighbours if name in self.links]
        kind = random.random()
        if kind < 0.01:
            self.feed(random.choice([*self.links]), self.broken(random.choice(self.sent)))
        elif kind < 0.35 and routers:
            name = random.choice(routers)
            packets = [encode(self.packet(name)) for _ in range(random.randrange(1, 5))]
            self.feed(name, b"".join(self.broken(each) if random.random() < 0.04 else each for each in packets))
        elif kind < 0.40 and routers:
            self.change(random.choice(routers))
        else:
            self.speak(random.choice("aaabbbrt"), random.random())
        if random.random() < 0.5:
            self.net.tick()

    def speak(self, name, kind):
        """Let a client send something."""
        random = self.random
        if kind < 0.7:
            self.say(name, *(self.publication() for _ in range(random.randrange(1, 5))))
        elif kind < 0.77:
            self.feed(name, self.unusual())
        elif kind < 0.82:
            self.feed(name, self.broken(encode(self.publication())))
        elif kind < 0.90:
            self.say(name, Subscribe(random.randrange(5), self.predicate(), 0, random.random() < 0.1))
        elif kind < 0.93:
            self.say(name, Unsubscribe(random.randrange(5)))
        elif kind < 0.935:
            self.say(name, Trace(1, *self.message(), random.random() < 0.5, "", ""))
        elif kind < 0.97:
            self.say(name, Ping(3))
        elif kind < 0.98:
            self.close(name)
        else:
            self.say(name, Close("done"))

    def change(self, name):
        """Let a neighbour confirm, announce something else, or vanish."""
        kind = self.random.randrange(4)
        if kind == 0:
            self.say(name, Pong(10**6))
        elif kind == 1:
            self.announce(name, 100 + self.count + self.number % 1000)
        elif kind == 2:
            self.close(name)
        else:
            self.wait(5)

    def publication(self):
        return Publish(self.random.choice([0, 1, 2**40]), *self.message(), self.random.random() < 0.3)

    def fill(self, count):
        """Subscribe to so much that the table is compiled."""
        self.say("a", *(Subscribe(1000 + n, f"price = {n} and x = {n % 7}", 0) for n in range(count)))

    def run(self, steps):
        """Run the stream; return the number of frames that left, and of bytes that took the fast path."""
        for _ in range(steps):
            self.step()
        self.wait(3)
        self.net.check(self.seed)
        return sum(len(frames(data)) for data in self.net.out[1].values()), self.net.twins[0].handled


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    end, seed, total, handled = time.monotonic() + options.seconds, options.seed, 0, 0
    while time.monotonic() < end:
        sent, fast = TwinStream(seed).run(400)
        total, handled, seed = total + sent, handled + fast, seed + 1
    print(f"{seed - options.seed:,} streams, {total:,} frames left, {handled:,} bytes took the fast path")


if __name__ == "__main__":
    main()
