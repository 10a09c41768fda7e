"""Small networks in memory, and single routers with scripted peers."""

from cbnet import parse_filter
from cbnet.language.syntax.byte_form import filter_to_bytes
from cbnet.network.link.context import Send, Shut
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.frames import Announce, Held, Hello, LinkField, LinkRecord, Publish, StreamChange
from cbnet.network.protocol.wire import VERSION
from cbnet.network.router.router import Router
from cbnet.network.simulation.memory_client import MemoryClient
from cbnet.network.simulation.memory_network import MemoryNetwork


class Alone:
    """A router whose neighbours and clients are scripted by the test."""

    def __init__(self, name="a", incarnation=100, **settings):
        self.router = Router(Settings(name, **settings), incarnation)
        self.now = 0.0
        self.router.tick(self.now)

    def wait(self, seconds=0.1):
        """Let time pass in small steps; return the router's actions."""
        done = []
        for _ in range(round(seconds / 0.1)):
            self.now += 0.1
            done += self.router.tick(self.now)
            while self.router.has_work:
                done += self.router.work(self.now)
        return done

    def open(self, link, hello):
        done = self.router.opened(link, self.now)
        return done + self.say(link, hello)

    def router_link(self, link, name, incarnation=1, peer_link=1, **changes):
        said = {"scheme": self.router.settings.routing, **changes}
        return self.open(link, hello("router", name, incarnation=incarnation, link=peer_link, **said)) + self.say(
            link, Held([])
        )

    def client_link(self, link, name="c"):
        return self.open(link, hello("client", name, incarnation=0, link=0, scheme=""))

    def leaf(self, link, name, wants=(), offers=(), incarnation=1, **changes):
        """Open a link to a router that has no other neighbour; return what it hears when its record has been adopted."""
        self.router_link(link, name, incarnation, **changes)
        self.say(link, self.record(link, name, incarnation))
        return self.wait(0.1) + self.announce(link, wants, offers) if wants or offers else self.wait(0.1)

    def record(self, link, name, incarnation=1, sequence=1, **others):
        """Return the record of a neighbour; others: its other links."""
        own = {self.router.settings.name: LinkField(1, [self.router.links.get(link).session])}
        return LinkRecord(name, incarnation, sequence, sequence, 0, {**own, **others})

    def announce(self, link, wants=(), offers=(), number=1, sequence=1, **changes):
        """Let a neighbour announce filters of its side, as the tree 0 of the newest version has it."""
        side = self.tree_link(link).far_key if sequence == 1 else b""
        said = {"number": number, "sequence": sequence, "side": side, "base": 0, "removed": [], "is_last": True}
        change = StreamChange(**{"added": list(range(len(wants) + len(offers))), **said, **changes})
        return self.say(link, Announce(encoded(*wants), encoded(*offers), [change], []))

    def tree_link(self, link, tree=0):
        """Return the link of a tree to a neighbour."""
        return self.router.version.trees[tree].links[self.router.links.name(link)]

    def say(self, link, *frames):
        return [action for frame in frames for action in self.router.received(link, frame, self.now)]

    def close(self, link):
        """Close a link; return all that the router does about it, now and later."""
        done = self.router.closed(link, self.now)
        while self.router.has_work:
            done += self.router.work(self.now)
        return done


def encoded(*filters):
    """Return filters as they are announced."""
    return [filter_to_bytes(parse_filter(text)) for text in filters]


def hello(
    role, name, *, low=VERSION, high=VERSION, network="cbnet", incarnation=1, link=1, scheme="multitree:1"
):  # fmt: skip
    return Hello(
        low=low, high=high, role=role, name=name, network=network, incarnation=incarnation, link=link, scheme=scheme
    )


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


def content(tags=(), **attributes):
    return Content(Publish(1, attributes, list(tags), b"", False))
