"""Networks whose nodes have predicates before any client subscribes."""

from random import Random

import pytest

from cbnet import Predicate, parse
from cbnet.network import MemoryClient, MemoryNetwork, Settings
from cbnet.network.announce.announcements import NodeData
from cbnet.network.protocol.frames import RefusedFrame, Subscribe, TracedFrame, Unsubscribe
from cbnet.topology import topology

LINE = (("a", "b"), ("b", "c"), ("c", "d"))
WANTS = {"a": "#jazz or x > 3", "c": "#jazz and #vinyl or x = 1", "d": "#news"}
MESSAGES = [{"#": ["jazz"]}, {"#": ["vinyl", "jazz"]}, {"x": 1}, {"x": 4}, {"x": 2}, {"#": ["news"], "x": 9}, {}]


class InitialLab:
    """A network in memory that begins with predicates, with a client at each router."""

    def __init__(self, links, wants, seed=1, **settings):
        self.wants = {name: parse(text) for name, text in wants.items()}
        self.names = sorted({name for pair in links for name in pair})
        self.memory = MemoryNetwork(seed)
        for name in self.names:
            self.memory.add(Settings(name, **settings), NodeData(self.wants.get(name, Predicate())))
        for pair in links:
            self.memory.add_cable(*pair)
        self.clients = {name: MemoryClient(self.memory, f"client of {name}", name) for name in self.names}
        self.memory.run(5)

    def counted(self):
        """Return how many messages came to the initial predicate of each node."""
        counters = {name: self.memory.router(name).counters for name in self.names}
        return {name: each["delivered_initial"] for name, each in counters.items()}

    def check(self, messages):
        """Publish messages, all at another router, and check what every node gets by brute force."""
        before = self.counted()
        for place, message in enumerate(messages):
            members = dict(message)
            tags = tuple(members.pop("#", ()))
            assert self.clients[self.names[place % len(self.names)]].publish(members, b"", tags)
        self.memory.run(2)
        after = self.counted()
        gained = {name: after[name] - before[name] for name in self.names}
        nothing = parse("false")
        assert gained == {
            name: sum(self.wants.get(name, nothing).matches(message) for message in messages) for name in self.names
        }


@pytest.mark.parametrize("trees", [1, 3])
def test_random_networks_deliver_as_brute_force_does(trees):
    random = Random(trees)
    graph = topology("powerlaw:9", seed=3)
    links = [(f"r{u}", f"r{v}") for u, v, _ in graph.edges()]
    tags = "abcdef"
    wants = {
        f"r{node}": " or ".join(
            " and ".join(f"#{tag}" for tag in random.sample(tags, random.randint(1, 3))) for _ in range(4)
        )
        for node in range(7)
    }
    lab = InitialLab(links, wants, trees=trees)
    lab.check([{"#": random.sample(tags, random.randint(1, 4))} for _ in range(40)])


def test_client_leaves_the_initial_predicate_in_place():
    lab = InitialLab(LINE, WANTS)
    client = lab.clients["c"]
    client.subscribe(1, "#jazz", wait=5)  # covers an initial filter
    lab.memory.run(1)
    lab.check(MESSAGES)
    assert len(client.deliveries) == 2
    client.unsubscribe(1)
    lab.memory.run(1)
    lab.check(MESSAGES)
    assert len(client.deliveries) == 2


def test_listener_gets_deliveries_to_the_initial_predicate():
    lab = InitialLab(LINE, WANTS)
    client, router = lab.clients["c"], lab.memory.router("c")
    client.send(Subscribe(7, "", 0, True))
    lab.memory.run(1)
    assert (len(router.fib), len(router.fib.initial)) == (1, 2)
    lab.check(MESSAGES)
    assert [delivery.subscription for delivery in client.deliveries] == [7, 7]
    assert len({delivery.message for delivery in client.deliveries}) == 2
    client.send(Unsubscribe(7))
    lab.memory.run(1)
    assert len(router.fib) == 0
    lab.check(MESSAGES)
    assert len(client.deliveries) == 2


def test_a_subscription_may_change_between_the_initial_predicate_and_another():
    lab = InitialLab(LINE, WANTS)
    client = lab.clients["c"]
    client.subscribe(1, "x = 9")
    client.send(Subscribe(1, "", 0, True))
    lab.memory.run(1)
    lab.check(MESSAGES)
    assert len(client.deliveries) == 2
    client.subscribe(1, "x = 9")
    lab.memory.run(1)
    lab.check(MESSAGES)
    assert len(client.deliveries) == 3


def test_listening_without_an_initial_predicate_is_refused():
    lab = InitialLab(LINE, WANTS)
    lab.clients["b"].send(Subscribe(1, "", 0, True))
    lab.memory.run(1)
    answer = lab.clients["b"].answers[-1]
    assert isinstance(answer, RefusedFrame)
    assert "router b has no initial predicate" in answer.reason


def test_a_router_that_starts_again_begins_with_the_same():
    lab = InitialLab(LINE, WANTS)
    lab.clients["c"].subscribe(1, "x = 7", wait=5)
    lab.memory.run(1)
    lab.memory.kill("c")
    lab.memory.run(5)
    lab.memory.start("c")
    lab.memory.run(8)
    lab.check(MESSAGES)


def test_trace_names_the_initial_predicate():
    lab = InitialLab(LINE, WANTS)
    lab.clients["a"].trace(1, {"x": 1})
    lab.memory.run(2)
    hops = [answer.hop for answer in lab.clients["a"].answers if isinstance(answer, TracedFrame)]
    delivered = {hop.router: hop.delivered for hop in hops}
    assert delivered == {"a": [], "b": [], "c": ["the initial predicate: x = 1"]}
