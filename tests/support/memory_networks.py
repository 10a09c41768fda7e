"""Small networks in memory, and single routers with scripted peers."""

from cbnet.network.link.actions import Send, Shut
from cbnet.network.link.settings import Settings
from cbnet.network.linkstate.database import Database
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.frames import Hello, LinkField, LinkRecord, Publish
from cbnet.network.router.router import Router
from cbnet.network.simulation.memory_client import MemoryClient
from cbnet.network.simulation.memory_network import MemoryNetwork


class Alone:
    """A router whose neighbours and clients are scripted by the test."""

    def __init__(self, name="a", life=100, **settings):
        self.router = Router(Settings(name, **settings), life)
        self.now = 0.0
        self.router.tick(self.now)

    def wait(self, seconds=0.1):
        """Let time pass in small steps; return the router's actions."""
        done = []
        for _ in range(round(seconds / 0.1)):
            self.now += 0.1
            done += self.router.tick(self.now)
        return done

    def open(self, link, hello):
        done = self.router.opened(link, self.now)
        return done + self.say(link, hello)

    def router_link(self, link, name, life=1, **changes):
        return self.open(link, hello("router", name, life=life, **changes))

    def client_link(self, link, name="c"):
        return self.open(link, hello("client", name, life=0, scheme=""))

    def say(self, link, *frames):
        return [action for frame in frames for action in self.router.received(link, frame, self.now)]

    def close(self, link):
        return self.router.closed(link, self.now)


def hello(role, name, *, low=3, high=3, network="cbnet", life=1, link=1, scheme="multitree:1"):
    return Hello(low=low, high=high, role=role, name=name, network=network, life=life, link=link, scheme=scheme)


def sent(actions, kind=object, link=None):
    """Return the frames of a type that are sent, over one link or over all."""
    chosen = [a for a in actions if isinstance(a, Send) and isinstance(a.frame, kind)]
    return [action.frame for action in chosen if link is None or action.link == link]


def links_of(actions, kind):
    """Return the links over which frames of a type are sent."""
    return [a.link for a in actions if isinstance(a, Send) and isinstance(a.frame, kind)]


def shut(actions):
    """Return the closed links, with the reasons."""
    return {action.link: action.reason for action in actions if isinstance(action, Shut)}


class Lab:
    """A network in memory, with a client at each router."""

    def __init__(self, links, seed=1, **settings):
        """Initialise with links such as `a-b:2 b-c`."""
        self.memory = MemoryNetwork(seed)
        lengths = {}
        for link in links.split():
            ends, _, length = link.partition(":")
            a, _, b = ends.partition("-")
            lengths[a, b] = int(length or 1)
        self.names = sorted({name for pair in lengths for name in pair})
        for name in self.names:
            weights = {b if a == name else a: length for (a, b), length in lengths.items() if name in (a, b)}
            self.memory.add(Settings(name, weights=weights, **settings))
        for pair in lengths:
            self.memory.add_cable(*pair)
        self.clients = {name: MemoryClient(self.memory, f"client of {name}", name) for name in self.names}
        self.memory.run(3.0)

    def run(self, seconds):
        self.memory.run(seconds)

    def router(self, name):
        return self.memory.router(name)

    def payloads(self, name):
        return [delivery.payload for delivery in self.clients[name].deliveries]

    def answers(self, name, kind):
        return [answer for answer in self.clients[name].answers if isinstance(answer, kind)]


def database(links):
    """Return the database of links such as `a-b:2`, with records of both ends."""
    neighbours = {}
    for link in links.split():
        ends, _, length = link.partition(":")
        a, b = ends.split("-")
        neighbours.setdefault(a, {})[b] = LinkField(int(length or 1), [1])
        neighbours.setdefault(b, {})[a] = LinkField(int(length or 1), [1])
    db = Database(100)
    for owner, own in neighbours.items():
        db.install(LinkRecord(owner, 1, 1, 1, 0, own), 0)
    return db


def content(tags=(), **attributes):
    return Content(Publish(1, attributes, list(tags), b"", False))
