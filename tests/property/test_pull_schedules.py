"""Whatever happens to a network: every request ends, and when all is quiet, in the item if somebody has it.

Holders come, go, lose their items, forge replies and fall silent; cables are cut and repaired, routers killed and started.
Each schedule is made again from its seed. The environment variable CBNET_PULL_SCHEDULES says how many are run.
"""

import os
from collections import Counter
from functools import cache

import pytest

from cbnet.language.message import Message
from cbnet.language.syntax.parser import parse
from cbnet.network.link.settings import Settings
from cbnet.network.linkstate.versions import reachable_edges
from cbnet.network.protocol.frames import ItemField, LinkField, PullFailure, PullReply
from cbnet.network.simulation.memory_client import MemoryClient
from cbnet.network.simulation.memory_network import MemoryNetwork

SCHEDULES = int(os.environ.get("CBNET_PULL_SCHEDULES", "24"))
SETTLING = 9.0  # seconds: the longest time until all routers know of a change
SLACK = 4.0  # seconds: on links, which a cache does not count, and while a holder was asked
CACHE_AGE = 6.0
OFFERS = ("exists s", 's = "A"', 's = "A" or s = "B"', 's ^= "" and #t', "#t", "true", 's > "A"')
REQUESTS = (Message({"s": "A"}), Message({"s": "B"}), Message({"s": "C"}, ["t"]), Message({}, ["t"]))


class Holder(MemoryClient):
    """A client that has some items, and may be honest, a forger, or silent."""

    def __init__(self, memory, name, router):
        super().__init__(memory, name, router)
        self.memory = memory
        self.mood = "honest"
        self.items = {}  # request -> since when
        self.lost = {}  # request -> until when it had it

    def has(self, request):
        if self.mood == "forger":
            return ItemField({"s": "forged"}, [], b"", None)
        if request not in self.items:
            return None
        return ItemField({**request.attributes, "extra": 1}, sorted(request.tags), self.name.encode(), None)

    def _answer(self, frame):
        if self.mood != "silent":
            super()._answer(frame)


class Schedule:
    """A random network, and what happens to it."""

    def __init__(self, seed):
        self.memory = MemoryNetwork(seed)
        self.random = random = self.memory.random
        self.happened = Counter()
        self.names = [f"r{n}" for n in range(random.randint(2, 7))]
        self.clients = []
        routing = random.choice(({"trees": 1}, {"trees": 3}, {"scheme": "pif"}))
        for name in self.names:
            self.memory.add(
                Settings(name, **routing, answer=0.5, cache_age=CACHE_AGE, cache_bytes=random.choice((0, 800, 10**6)))
            )
            self.clients += [Holder(self.memory, f"{name}.{n}", name) for n in range(random.choice((1, 1, 2)))]
        pairs = {(self.names[random.randrange(n)], self.names[n]) for n in range(1, len(self.names))}
        pairs |= {tuple(sorted(random.sample(self.names, 2))) for _ in range(random.randint(0, 3))}
        for pair in sorted(pairs):
            self.memory.add_cable(*pair)
        self.waiting = {}  # number -> client, its connection, request, deadline

    def run(self, changes):
        for _ in range(changes):
            change = self.random.choice((self.offer, self.offer, self.withdraw, self.take, self.give, self.give, self.change_mood,
                                         self.cut, self.repair, self.kill, self.start))  # fmt: skip
            self.happened[change.__name__] += 1
            change()
            for _ in range(self.random.choice((0, 2, 5))):
                self.memory.after(self.random.uniform(0, 0.5), self.request)
            self.memory.run(self.random.choice((0.0, 0.01, 0.05, 0.3, 1.0, 4.0)))
        self.check()
        for pair in self.memory.cables(cut=True):
            self.memory.repair(*pair)
        for name in self.dead():
            self.memory.start(name)
        self.check()

    # --- what happens

    def running(self):
        return [name for name in self.names if self.memory.hosts[name].router is not None]

    def dead(self):
        return [name for name in self.names if self.memory.hosts[name].router is None]

    def any_client(self):
        return self.random.choice(self.clients)

    def offer(self):
        client = self.any_client()
        client.offer(self.random.randrange(2), self.random.choice(OFFERS), client.has)

    def withdraw(self):
        client = self.any_client()
        if client.offers:
            client.withdraw(self.random.choice(list(client.offers)))

    def give(self):
        self.any_client().items[self.random.choice(REQUESTS)] = self.memory.now

    def take(self):
        client = self.any_client()
        if client.items:
            request = self.random.choice(list(client.items))
            del client.items[request]
            client.lost[request] = self.memory.now

    def change_mood(self):
        self.any_client().mood = self.random.choice(("honest", "honest", "forger", "silent"))

    def cut(self):
        if cables := self.memory.cables(cut=False):
            cable = self.random.choice(cables)
            self.memory.cut(*cable, noticed_by=[end for end in cable if self.random.random() < 0.5])

    def repair(self):
        if cables := self.memory.cables(cut=True):
            self.memory.repair(*self.random.choice(cables))

    def kill(self):
        if running := self.running():
            self.memory.kill(self.random.choice(running), silently=self.random.random() < 0.5)

    def start(self):
        if dead := self.dead():
            self.memory.start(self.random.choice(dead))

    def request(self, client=None, request=None, *, timeout=3.0, is_fresh=None, max_holders=4):
        client, request = client or self.any_client(), request or self.random.choice(REQUESTS)
        number = len(self.waiting)
        fresh = self.random.random() < 0.3 if is_fresh is None else is_fresh
        if client.request(number, request, timeout=timeout, is_fresh=fresh, max_holders=max_holders):
            self.waiting[number] = client, client.end, request, self.memory.now
            return number
        return None

    # --- what must be

    def check(self):
        self.memory.run(SETTLING)
        self.check_all_ended()
        for name in self.running():
            client = next(each for each in self.clients if each.router == name)
            for request in REQUESTS:
                number = self.request(client, request, timeout=30.0, is_fresh=True, max_holders=64)
                self.memory.run(12.0)  # longer than all holders could be silent
                holders = {each.name.encode() for each in self.reached(name) if self.holds(each, request)}
                answer = self.answers()[number]
                if holders:
                    assert isinstance(answer, PullReply)
                    assert answer.payload in holders
                    assert answer.cache == ""
                else:
                    assert isinstance(answer, PullFailure)
                    assert not answer.is_late
        self.check_all_ended()
        assert sum(len(self.memory.router(name).pulls.holders) for name in self.running()) == 0
        assert sum(len(self.memory.router(name).pulls.requesters) for name in self.running()) == 0

    def reached(self, name):
        """Return the clients of all routers that can be reached, by the cables that are not cut."""
        neighbours = {each: {} for each in self.running()}
        for a, b in self.memory.cables(cut=False):
            if a in neighbours and b in neighbours:
                neighbours[a][b] = neighbours[b][a] = LinkField(1, [1])
        reached = {name} | {end for pair in reachable_edges(name, neighbours.__getitem__) for end in pair}
        return [client for client in self.clients if client.router in reached]

    def holds(self, client, request):
        offers = any(parse(predicate).matches(request) for predicate, _ in client.offers.values())
        return client.mood == "honest" and offers and request in client.items

    def answers(self):
        found = {}
        for client in self.clients:
            for answer in client.answers:
                if isinstance(answer, PullReply | PullFailure):
                    assert answer.number not in found, "answered twice"
                    assert self.waiting[answer.number][0] is client
                    found[answer.number] = answer
        return found

    def check_all_ended(self):
        """Every request has an answer, unless its connection has ended; and every reply is one to it."""
        answers = self.answers()
        for number, (client, end, request, began) in self.waiting.items():
            answer = answers.get(number)
            if answer is None:
                assert client.end is not end, f"request {number} did not end"
            elif isinstance(answer, PullReply):
                assert answer.attributes == {**request.attributes, "extra": 1}
                assert answer.tags == sorted(request.tags)
                self.check_age(answer, request, began)

    def check_age(self, answer, request, began):
        """A reply is what its holder had when it gave it, and no cache gave it later than it may."""
        assert answer.age <= CACHE_AGE * 1000
        holder = next(each for each in self.clients if each.name.encode() == answer.payload)
        given = began - answer.age / 1000
        assert request in holder.items or holder.lost[request] >= given - SLACK


@cache
def counters_after(seed):
    """Run a schedule; return the counters of its routers."""
    schedule = Schedule(seed)
    schedule.run(25)
    return [host.router.counters for host in schedule.memory.hosts.values()]


@pytest.mark.parametrize("part", range(4))
def test_requests_end_as_they_must_whatever_happens(part):
    for seed in range(part, SCHEDULES, 4):
        counters_after(seed)


def test_the_schedules_are_not_idle():
    routers = [counters for seed in range(SCHEDULES) for counters in counters_after(seed)]
    for what in (
        "requests", "replies", "requests_unanswered", "requests_answered", "cache_hits", "cache_evictions", "cache_expired",
        "holders_timed_out", "dropped.reply_mismatch",
    ):  # fmt: skip
        assert any(counters[what] for counters in routers), what
