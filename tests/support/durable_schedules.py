"""Random schedules of durable publishing under faults, and the check of their histories.

    python -m tests.support.durable_schedules --seconds 600 --seed 0

Checked: no message with a receipt is lost to a durable subscription that was confirmed before; each is stored once, and in
the order of its publisher; nobody receives what does not match; after a quiet time all were delivered and acknowledged.
"""

import argparse
import sys
import time
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import Subscribed
from cbnet.network.simulation.durable_client import DurableMemoryClient
from cbnet.network.simulation.memory_disk import MemoryDisk
from cbnet.network.simulation.memory_network import MemoryNetwork

QUIET = 90.0  # seconds without faults at the end
PREDICATES = {
    "all": (lambda k: k >= 0, "k >= 0"),
    "even": (lambda k: k % 2 == 0, "k in (0, 2, 4)"),
    "low": (lambda k: k < 2, "k < 2"),
}


class DurableSchedule:
    """One random run."""

    def __init__(self, seed, *, disk=MemoryDisk):
        self.seed = seed
        self.random = random = Random(seed)
        self.memory = MemoryNetwork(seed, is_fast=random.random() < 0.3)
        self.names = [f"r{n}" for n in range(random.choice([1, 2, 3, 3, 4, 5]))]
        scheme = random.choice([{"trees": 1}, {"trees": 2}, {"scheme": "pif"}])
        self.homes = random.sample(self.names, random.randint(1, min(3, len(self.names))))
        for name in self.names:
            has_disk = name in self.homes or random.random() < 0.7
            chosen = disk(self.memory, delay=random.choice([0.001, 0.02, 0.3])) if has_disk else None
            self.memory.add(Settings(name, **scheme), disk=chosen)
        for n in range(1, len(self.names)):
            self.memory.add_cable(self.names[random.randrange(n)], self.names[n])
        for _ in range(random.randrange(3)):
            if len(self.names) > 2:
                a, b = random.sample(self.names, 2)
                if (a, b) not in self.memory.cables(cut=False) and (b, a) not in self.memory.cables(cut=False):
                    self.memory.add_cable(a, b)
        self.memory.run(5)
        self.consumers = []  # client, name of the subscription
        self.confirmed = {}  # name -> time when it was confirmed
        self.kinds = {}  # name of the subscription -> kind of predicate
        # A router without a journal that starts while it is cut off knows of no home: nothing is promised there.
        self.sources = [name for name in self.names if self.memory.hosts[name].disk is not None]
        self.publishers = [
            DurableMemoryClient(self.memory, f"p{n}", random.choice(self.sources)) for n in range(random.randint(1, 3))
        ]
        self.sent = {}  # publisher, number -> k, time
        self.dead = set()
        for home in self.homes:
            kind = random.choice([*PREDICATES])
            for n in range(random.randint(1, 2)):
                self.consume(home, f"{kind} at {home}", kind, f"c{n} of {home}")
        self.memory.run(8)

    def consume(self, home, name, kind, client_name):
        client = DurableMemoryClient(self.memory, client_name, home)
        self.kinds[name] = kind
        client.acknowledges = lambda _: self.random.random() < 0.9
        self.consumers.append((client, name))

        def confirmed(frame):
            if isinstance(frame, Subscribed) and frame.is_confirmed:
                self.confirmed.setdefault(name, self.memory.now)

        client.on_answer = confirmed
        window = self.random.choice([1, 5, 100])
        client.subscribe_durable(1, name, PREDICATES[kind][1], wait=8.0, window=window, ack_wait=3.0)

    # --- the schedule

    def run(self, seconds=40.0):
        end = self.memory.now + seconds
        while self.memory.now < end:
            self.memory.run(self.random.expovariate(8))
            self.step()
        self.heal()
        self.check()
        return len(self.sent)

    def step(self):
        kind = self.random.random()
        if kind < 0.75:
            self.publish(self.random.choice(self.publishers))
        elif kind < 0.85:
            self.fault()
        else:
            self.mend()

    def publish(self, client):
        for _ in range(self.random.choice([1, 1, 5, 20])):
            if not client.publisher.is_full:
                k = self.random.randrange(5)
                number = client.publish_durable({"k": k}, timeout=self.random.choice([3.0, 10.0, 30.0]))
                self.sent[client.publisher.publisher, number] = k, self.memory.now

    def fault(self):
        random, memory = self.random, self.memory
        kind = random.randrange(9)
        name = random.choice(self.names)
        if kind <= 2 and name not in self.dead:
            memory.kill(name, silently=random.random() < 0.3)
            self.dead.add(name)
        elif kind == 3 and memory.cables(cut=False):
            ends = random.choice(memory.cables(cut=False))
            memory.cut(*ends, noticed_by=random.choice([None, ends[:1], ()]))
        elif kind == 4:
            random.choice(self.publishers).move(random.choice(self.sources))
        elif kind == 5:
            client, _ = random.choice(self.consumers)
            client.disconnect(silently=random.random() < 0.5)
        elif kind == 6:
            memory.jump_clock(name, random.choice([-100, -1, 1, 5, 100]))
        elif kind == 7 and memory.hosts[name].disk is not None:
            disk = memory.hosts[name].disk
            disk.is_full, disk.delay = random.random() < 0.3, random.choice([0.001, 0.1, 2.0])
        else:
            random.choice(self.publishers).disconnect(silently=random.random() < 0.5)

    def mend(self):
        kind = self.random.randrange(4)
        if kind == 0 and self.dead:
            name = self.random.choice(sorted(self.dead))
            self.dead.discard(name)
            self.memory.start(name)
        elif kind == 1 and self.memory.cables(cut=True):
            self.memory.repair(*self.random.choice(self.memory.cables(cut=True)))
        elif kind == 2:
            for client in (*self.publishers, *(client for client, _ in self.consumers)):
                client.reconnect()
        else:
            self.restore_disks()

    def restore_disks(self):
        for host in self.memory.hosts.values():
            if host.disk is not None:
                host.disk.is_full, host.disk.delay = False, 0.01

    def heal(self):
        for name in sorted(self.dead):
            self.memory.start(name)
        for ends in self.memory.cables(cut=True):
            self.memory.repair(*ends)
        for client in (*self.publishers, *(client for client, _ in self.consumers)):
            client.reconnect()
            client.acknowledges = lambda _: True
        self.restore_disks()
        self.memory.run(QUIET)

    # --- the check

    def check(self):
        receipts = {}
        for client in self.publishers:
            assert not len(client.publisher), (self.seed, "a message without any answer")
            for number, receipt in client.receipts.items():
                receipts[client.publisher.publisher, number] = receipt
        for name, kind in self.kinds.items():
            self.check_subscription(name, PREDICATES[kind][0], receipts)
        for home in self.homes:
            for status in self.memory.router(home).durable.report(0, None).subscriptions:
                assert (status.messages, status.unacknowledged) == (0, 0), (self.seed, status.name, "not delivered")

    def check_subscription(self, name, matches, receipts):
        received = [message for client, own in self.consumers if own == name for message in client.stored]
        offsets = {}
        for message in received:
            identity = message.publisher, message.number
            assert identity in self.sent, (self.seed, name, "a message that nobody published")
            assert matches(self.sent[identity][0]), (self.seed, name, "a message that does not match", identity)
            assert offsets.setdefault(message.offset, identity) == identity, (self.seed, name, "an offset used twice")
        places = {}
        for offset, identity in offsets.items():
            assert places.setdefault(identity, offset) == offset, (self.seed, name, "stored twice", identity)
        for identity, receipt in receipts.items():
            k, at = self.sent[identity]
            is_stored = receipt is not None and not receipt.silent and not receipt.refused
            is_due = matches(k) and at > self.confirmed.get(name, float("inf"))
            if is_stored and is_due:
                assert identity in places, (self.seed, name, "acknowledged and lost", identity, at)
        in_order = [identity for _, identity in sorted(offsets.items())]
        for publisher in {publisher for publisher, _ in in_order}:
            numbers = [number for each, number in in_order if each == publisher]
            assert numbers == sorted(numbers), (self.seed, name, "order")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    end, seed, messages = time.monotonic() + options.seconds, options.seed, 0
    while time.monotonic() < end:
        messages += DurableSchedule(seed).run()
        seed += 1
    print(f"{seed - options.seed:,} schedules, {messages:,} messages")


if __name__ == "__main__":
    main()
