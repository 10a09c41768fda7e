"""Streams that are opened, and filters that are hidden and revived, in slices: neighbours never lack a filter.

Slices are of one or two filters here, and everything else happens in between: changes, other wide filters, links that
are lost and come back.
"""

from random import Random

import pytest
from support.aggregation_reference import reduced
from support.memory_networks import Lab
from support.seeds import seeds

from cbnet import parse
from cbnet.language.relations.covering import FilterAnalysis
from cbnet.language.syntax.byte_form import filter_from_bytes, filter_to_bytes
from cbnet.network.announce import stream_openings
from cbnet.network.announce.subscriptions import OwnSource
from cbnet.network.simulation.memory_network import Host
from cbnet.routing.aggregation.aggregation import Aggregation

NARROW = [f"k = {number} and j = {other}" for number in range(8) for other in range(3)]
WIDE = ["k >= 0", "k < 4", "k >= 2 and k < 7", "j = 1", "j < 2", "k >= 0 and j < 2"]


@pytest.fixture(autouse=True)
def _small_slices(monkeypatch):
    monkeypatch.setattr(Aggregation.__init__, "__defaults__", (2,))
    monkeypatch.setattr(stream_openings, "SLICE", 2)
    monkeypatch.setattr(Host, "tick", lambda host: host.router and host.perform(host.router.tick(host.now)))


class Churn:
    """A chain a-b-c with a client at each router, whose subscriptions change at random."""

    def __init__(self, seed):
        self.random = Random(seed)
        self.lab = Lab("a-b b-c", seed=seed)
        self.ids = iter(range(1, 10**6))

    def change(self):
        client = self.lab.clients[self.random.choice("ab")]
        if client.subscriptions and self.random.random() < 0.45:
            client.unsubscribe(self.random.choice(sorted(client.subscriptions)))
        else:
            chosen = WIDE if self.random.random() < 0.3 else NARROW
            client.subscribe(next(self.ids), " or ".join(self.random.sample(chosen, self.random.randint(1, 4))))

    def work(self, slices):
        for _ in range(slices):
            for host in self.lab.memory.hosts.values():
                if host.router.has_work:
                    host.perform(host.router.work(host.now))

    def finish(self):
        for _ in range(5):  # work that is done leads to more at neighbours
            self.lab.run(1)
            while any(host.router.has_work for host in self.lab.memory.hosts.values()):
                self.work(1)
                self.lab.run(0.01)

    def flap(self):
        """Cut a cable, or repair it."""
        pair = self.random.choice((("a", "b"), ("b", "c")))
        if pair in self.lab.memory.cables(cut=True):
            self.lab.memory.repair(*pair)
        else:
            self.lab.memory.cut(*pair)

    def wanted(self, names):
        """Return the filters that the clients of some routers want, reduced."""
        texts = [text for name in names for text in self.lab.clients[name].subscriptions.values()]
        return reduced({filter_to_bytes(each) for text in texts for each in parse(text)})

    def announced(self, name, neighbour):
        """Return what a router has sent to a neighbour of its side; None if it has not sent all of it."""
        router = self.lab.router(name)
        stream = router.streams.to_side(router.version.trees[0].links[neighbour])
        if stream is None or stream in router.announcements.announcer._openings:
            return None
        return router.streams.kinds[0].content(stream)


def covers(content, wanted):
    analysis = FilterAnalysis(filter_from_bytes(wanted))
    return wanted in content or any(analysis.implies(filter_from_bytes(wide)) for wide in content)


@pytest.mark.parametrize("seed", [*seeds(4), 7622, 600354])  # these found covered filters that were announced
def test_what_a_neighbour_has_been_told_always_covers_what_the_clients_want(seed):
    churn = Churn(seed)
    for _ in range(120):
        churn.change()
        churn.lab.run(churn.random.choice((0.0, 0.2)))
        churn.work(churn.random.randint(0, 3))
        own = churn.lab.router("a").fib.aggregation.filters(OwnSource.CLIENTS)
        told = churn.announced("a", "b")
        assert told is not None
        assert all(covers(told, each) for each in own)
    churn.finish()
    assert churn.announced("a", "b") == churn.wanted("a")
    assert churn.announced("b", "c") == churn.wanted("ab")


@pytest.mark.parametrize(
    "seed", [*seeds(4), 500028, 700248]
)  # a stream that began with one that had changed, or was wrong
def test_after_links_were_lost_in_the_middle_all_routers_know_what_is_wanted(seed):
    churn = Churn(seed)
    for _ in range(60):
        if churn.random.random() < 0.15:
            churn.flap()
        churn.change()
        churn.lab.run(churn.random.choice((0.05, 0.2, 0.6)))
        churn.work(churn.random.randint(0, 4))
    for pair in churn.lab.memory.cables(cut=True):
        churn.lab.memory.repair(*pair)
    for _ in range(40):
        churn.lab.run(0.2)
        churn.work(2)
    churn.finish()
    for name, neighbour, behind in (("a", "b", "a"), ("b", "c", "ab"), ("c", "b", "c"), ("b", "a", "bc")):
        wanted = churn.wanted(behind)
        assert churn.announced(name, neighbour) == wanted
        other = churn.lab.router(neighbour)
        stream = other.streams.from_side(other.version.trees[0].links[name])
        assert other.streams.kinds[0].filters(stream) == wanted
