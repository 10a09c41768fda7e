"""Random networks in which links are added while clients subscribe and publish: nothing confirmed may be missed."""

from collections import Counter

from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import Subscribed
from cbnet.network.simulation.memory_client import MemoryClient
from cbnet.network.simulation.memory_network import MemoryNetwork

_SECONDS = 4.0  # of changes
_CHANGES = 6
_IN_TRANSIT = 2.0  # seconds that a message takes at most


class GrowingNetwork:
    """A connected network that gets more links; `run` returns what went wrong."""

    def __init__(self, seed):
        self.memory = MemoryNetwork(seed)
        self.random = random = self.memory.random
        names = [f"r{number}" for number in range(random.randint(3, 7))]
        routing = random.choice(({"trees": 1}, {"trees": 3}, {"scheme": "pif"}))
        for name in names:
            self.memory.add(Settings(name, **routing))
        self.clients = [MemoryClient(self.memory, f"at {name}", name) for name in names]
        pairs = {(names[random.randrange(number)], names[number]) for number in range(1, len(names))}
        for pair in sorted(pairs):
            self.memory.add_cable(*pair)
        self._missing = [(a, b) for a in names for b in names if a < b and (a, b) not in pairs]
        self._subscribed = {}  # by number: the client and its predicate
        self._expected = {}  # time of publication, by client, number, payload
        self._is_over = False
        self._published = 0
        self.memory.run(3.0)

    def run(self):
        """Return the deliveries that are missing, and those that came twice."""
        for _ in range(_CHANGES):
            self.memory.after(self.random.uniform(0, _SECONDS), self._add_link)
            self.memory.after(self.random.uniform(0, _SECONDS), self._subscribe)
            self.memory.after(self.random.uniform(0, _SECONDS), self._unsubscribe)
        self.memory.every(0.01, self._publish)
        self.memory.run(_SECONDS + 3)
        self._is_over = True
        self.memory.run(3)
        got = Counter(
            (client.name, each.subscription, each.payload) for client in self.clients for each in client.deliveries
        )
        return [each for each in self._expected if not got[each]], [each for each, count in got.items() if count > 1]

    def _add_link(self):
        if self._missing:
            self.memory.add_cable(*self._missing.pop(self.random.randrange(len(self._missing))))

    def _subscribe(self):
        number, low = len(self._subscribed) + 1, self.random.randrange(6)
        client = self.random.choice(self.clients)
        self._subscribed[number] = client, low
        client.subscribe(number, f"x > {low}", wait=60.0)

    def _unsubscribe(self):
        kept = [(number, client) for number, (client, _) in self._subscribed.items() if number in client.subscriptions]
        if kept:
            number, client = self.random.choice(kept)
            client.unsubscribe(number)
            self._expected = {
                each: since
                for each, since in self._expected.items()
                if each[1] != number or since < self.memory.now - _IN_TRANSIT
            }

    def _publish(self):
        if self._is_over:
            return
        self._published += 1
        value, payload = self.random.randrange(8), str(self._published).encode()
        self.random.choice(self.clients).publish({"x": value}, payload)
        for number, (client, low) in self._subscribed.items():
            if value > low and number in client.subscriptions and _is_confirmed(client, number):
                self._expected[client.name, number, payload] = self.memory.now

    @property
    def expected(self):
        """The number of deliveries that must be there."""
        return len(self._expected)


def _is_confirmed(client, number):
    return any(isinstance(each, Subscribed) and each.id == number and each.is_confirmed for each in client.answers)
