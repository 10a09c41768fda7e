"""Random networks in which links are added while clients subscribe and publish: nothing confirmed may be missed."""

from functools import partial

from cbnet import Message
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import Subscribed
from cbnet.network.simulation.memory_network import MemoryNetwork
from cbnet_lab.faults.record import BeginEvent, ConfirmEvent
from cbnet_lab.faults.simulation import RecordedClient, Simulation

_SECONDS = 4.0  # of changes
_CHANGES = 6
_DELAY = 2.0  # seconds that a message takes at most


class GrowingNetwork(Simulation):
    """A connected network that gets more links, which breaks no promise; `run` returns the findings."""

    def __init__(self, seed):
        memory = MemoryNetwork(seed)
        self.random = random = memory.random
        names = [f"r{number}" for number in range(random.randint(3, 7))]
        super().__init__(memory, BeginEvent(0.0, len(names), 0.0, 0.0, _DELAY))
        routing = random.choice(({"trees": 1}, {"trees": 3}, {"scheme": "pif"}))
        for name in names:
            self.memory.add(Settings(name, **routing))
            client = RecordedClient(self, f"client-{name}", name)
            client.on_answer = partial(self._answered, client)
        pairs = {(names[random.randrange(number)], names[number]) for number in range(1, len(names))}
        for pair in sorted(pairs):
            self.memory.add_cable(*pair)
        self._missing = [(a, b) for a in names for b in names if a < b and (a, b) not in pairs]
        self._is_over = False
        self._ids = 0
        self.memory.run(3.0)

    def run(self):
        """Return the findings."""
        for _ in range(_CHANGES):
            self.memory.after(self.random.uniform(0, _SECONDS), self._add_link)
            self.memory.after(self.random.uniform(0, _SECONDS), self._subscribe)
            self.memory.after(self.random.uniform(0, _SECONDS), self._unsubscribe)
        self.memory.every(0.01, self._publish)
        self.memory.run(_SECONDS + 3)
        self._is_over = True
        self.memory.run(3)
        return self.end()

    def _add_link(self):
        if self._missing:
            self.memory.add_cable(*self._missing.pop(self.random.randrange(len(self._missing))))

    def _subscribe(self):
        self._ids += 1
        client = self.random.choice([*self.clients.values()])
        client.subscribe(self._ids, f"x > {self.random.randrange(6)}", wait=60.0)

    def _unsubscribe(self):
        kept = [(client, id) for client in self.clients.values() for id in client.subscriptions]
        if kept:
            client, id = self.random.choice(kept)
            client.unsubscribe(id)

    def _publish(self):
        if not self._is_over:
            client = self.random.choice([*self.clients.values()])
            client.publish_message(Message({"x": self.random.randrange(8)}))

    def _answered(self, client, frame):
        """Record a confirmation; all routers can be reached at all times."""
        if isinstance(frame, Subscribed) and frame.is_confirmed and frame.id in client.subscriptions:
            routers = len(self.memory.hosts)
            name = client.subscription_name(frame.id)
            self.record(ConfirmEvent(self.memory.now, name, frame.routers, reached=routers))
