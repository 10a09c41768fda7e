"""Random networks in which links are added while clients subscribe and publish: nothing confirmed may be missed."""

from functools import partial

from cbnet import Message
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import Subscribed
from cbnet.network.simulation.memory_network import MemoryNetwork
from cbnet_lab.faults.check.checker import Checker
from cbnet_lab.faults.ground_truth import GroundTruth
from cbnet_lab.faults.load import RecordedClient
from cbnet_lab.faults.record import BeginEvent, ConfirmEvent, EndEvent, FaultEvent

_SECONDS = 4.0  # of changes
_CHANGES = 6
_DELAY = 2.0  # seconds that a message takes at most


class GrowingNetwork:
    """A connected network that gets more links, which breaks no promise; `run` returns the findings."""

    def __init__(self, seed):
        self.memory = MemoryNetwork(seed)
        self.random = random = self.memory.random
        names = [f"r{number}" for number in range(random.randint(3, 7))]
        self._checker = Checker(BeginEvent(0.0, len(names), 0.0, 0.0, _DELAY))
        self._checker.add(FaultEvent(0.0, "network", "start"))
        self._clients = {}
        truth = GroundTruth(self.memory, self._clients)
        routing = random.choice(({"trees": 1}, {"trees": 3}, {"scheme": "pif"}))
        for name in names:
            self.memory.add(Settings(name, **routing))
            self._clients[name] = RecordedClient(self.memory, f"client-{name}", name, self._checker.add, truth)
            self._clients[name].on_answer = partial(self._answered, self._clients[name])
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
        self._checker.add(EndEvent(self.memory.now, {}))
        return self._checker.end()

    def _add_link(self):
        if self._missing:
            self.memory.add_cable(*self._missing.pop(self.random.randrange(len(self._missing))))

    def _subscribe(self):
        self._ids += 1
        client = self.random.choice([*self._clients.values()])
        client.subscribe(self._ids, f"x > {self.random.randrange(6)}", wait=60.0)

    def _unsubscribe(self):
        kept = [(client, id) for client in self._clients.values() for id in client.subscriptions]
        if kept:
            client, id = self.random.choice(kept)
            client.unsubscribe(id)

    def _publish(self):
        if not self._is_over:
            client = self.random.choice([*self._clients.values()])
            client.publish_message(Message({"x": self.random.randrange(8)}))

    def _answered(self, client, frame):
        """Record a confirmation; all routers can be reached at all times."""
        if isinstance(frame, Subscribed) and frame.is_confirmed and frame.id in client.subscriptions:
            routers = len(self.memory.hosts)
            name = client.subscription_name(frame.id)
            self._checker.add(ConfirmEvent(self.memory.now, name, frame.routers, reached=routers))
