"""Networks in memory whose routers have journals on simulated disks."""

from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import DurableQuery, DurableReport
from cbnet.network.security.access import OPEN_ACCESS
from cbnet.network.simulation.memory_client import DurableMemoryClient
from cbnet.network.simulation.memory_disk import MemoryDisk
from cbnet.network.simulation.memory_network import MemoryNetwork


class DurableLab:
    """A network in memory, with a disk for each router."""

    def __init__(self, links, seed=1, *, is_fast=False, diskless=(), own=None, access=None, **settings):
        """Initialise with links such as `a-b b-c`, or the name of a single router; own, access: of some routers."""
        self.memory = MemoryNetwork(seed, is_fast=is_fast)
        pairs = [link.split("-") for link in links.split() if "-" in link]
        self.names = sorted({name for link in links.split() for name in link.split("-")})
        self.disks = {name: MemoryDisk(self.memory) for name in self.names if name not in diskless}
        self.prepare(self.memory)
        for name in self.names:
            own_settings = Settings(name, **{**settings, **(own or {}).get(name, {})})
            self.memory.add(own_settings, disk=self.disks.get(name), access=(access or {}).get(name, OPEN_ACCESS))
        for pair in pairs:
            self.memory.add_cable(*pair)
        self.clients = 0
        self.run(4)

    def prepare(self, memory):
        """Prepare disks, before the routers start."""

    def run(self, seconds):
        self.memory.run(seconds)

    def client(self, router, name=None, token=""):
        self.clients += 1
        client = DurableMemoryClient(self.memory, name or f"client {self.clients}", router, token=token)
        self.run(0.5)
        return client

    def kill(self, name, **how):
        self.memory.kill(name, **how)

    def start(self, name):
        self.memory.start(name)


def payloads(client):
    return [message.payload for message in client.stored]


def numbers(count):
    return [str(n).encode() for n in range(count)]


def billing_lab(*, acknowledges=None, **subscription):
    """Return a network of one router, and two clients, the second of which has the subscription `billing`."""
    net = DurableLab("a")
    alice, bob = net.client("a"), net.client("a")
    bob.acknowledges = acknowledges or bob.acknowledges
    bob.subscribe_durable(1, "billing", "x > 0", **subscription)
    net.run(1)
    return net, alice, bob


def home_behind_link():
    """Return a network a-b, a client of b with the subscription `billing`, the host b, and its end of the link."""
    net = DurableLab("a-b")
    bob, host = net.client("b"), net.memory.hosts["b"]
    bob.subscribe_durable(1, "billing", "x > 0")
    net.run(1)
    return net, bob, host, next(end for end in host.ends.values() if end.peer.owner is net.memory.hosts["a"])


def history_lab(links="a", history="x > 0", **options):
    """Return a network whose routers keep a history, and two clients of the router a."""
    net = DurableLab(links, history=history, **options)
    return net, net.client("a"), net.client("a")


def answers(client, kind):
    """Return the answers of one kind that a client got."""
    return [answer for answer in client.answers if isinstance(answer, kind)]


def report(net, client):
    """Return the report on durable subscriptions that a client requests."""
    client.send(DurableQuery(1))
    net.run(0.5)
    return answers(client, DurableReport)[-1]


def publish(net, client, texts, **attributes):
    """Publish a message for each text, and wait until they have arrived."""
    for text in texts:
        client.publish({"x": 1, **attributes}, text)
    net.run(0.5)
