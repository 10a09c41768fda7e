"""Live domains: after any schedule, deliveries as in one flat network; nothing twice, nothing goes round in circles.

Random domains of random routers, with gateways between them in trees, circles and side by side. Subscriptions come and go,
cables are cut and repaired, gateways die and come back, messages are published all the while. Then every router
publishes, and requests; who must get it is found by asking every predicate, and by which cables and gateways are whole.
Whoever is told that a subscription is known everywhere gets every message from then on.
"""

from random import Random

import pytest
from support.memory_domains import Domains, flat
from support.seeds import seeds

from cbnet.language import parse
from cbnet.network.link.settings import LIVE_SCHEMES
from cbnet.network.protocol.frames import ItemField, PullReply, Subscribed
from cbnet.routing.schemes.domains import SUMMARIES
from cbnet_lab.faults.random_schedule import MESSAGES, PREDICATES

VALUES = range(4)  # that are requested


class Schedule:
    def __init__(self, seed):
        self.random = random = Random(seed)
        sizes = [random.randint(1, 3) for _ in range(random.randint(2, 4))]
        names = [[f"{letter}{number}" for number in range(size)] for letter, size in zip("abcd", sizes, strict=False)]
        self.domains = "; ".join(self._cables(part) for part in names)
        pairs = [(random.choice(names[random.randrange(place)]), random.choice(names[place]))
                 for place in range(1, len(names))]  # fmt: skip
        pairs += [tuple(random.choice(part) for part in random.sample(names, 2)) for _ in range(random.randint(0, 3))]
        self.at = {f"g{number}": " ".join(pair) for number, pair in enumerate(random.sample(pairs, len(pairs)))}
        self.schemes = random.sample(LIVE_SCHEMES, len(LIVE_SCHEMES))
        self.net = Domains(
            self.domains, self.at, seed=seed, schemes=self.schemes, outside=SUMMARIES[seed % len(SUMMARIES)]
        )
        self.cables = [tuple(cable.split("-")) for part in self.net.domains for cable in part if "-" in cable]
        self.wanted = {}

    def _cables(self, part):
        random = self.random
        if len(part) == 1:
            return part[0]
        cables = {(part[random.randrange(place)], part[place]) for place in range(1, len(part))}
        if random.random() < 0.5:
            cables.add((part[0], part[-1]))
        return " ".join(f"{a}-{b}" for a, b in sorted(cables))

    def run(self, changes):
        for _ in range(3 * len(self.net.routers)):
            self.subscribe()
        for _ in range(changes):
            self.random.choice((self.subscribe, self.unsubscribe, self.gateway, self.cable))()
            client = self.net.clients[self.random.choice(self.net.routers)]
            message = self.random.choice(MESSAGES)
            client.publish(dict(message.attributes), b"meanwhile", tuple(message.tags))
            self.net.memory.run(self.random.choice((0.0, 0.1, 1.0, 5.0)))

    def subscribe(self):
        name, id = self.random.choice(self.net.routers), self.random.randrange(3)
        self.wanted[name, id] = self.random.choice(PREDICATES)
        self.net.clients[name].subscribe(id, self.wanted[name, id])

    def unsubscribe(self):
        if self.wanted:
            name, id = self.random.choice(sorted(self.wanted))
            del self.wanted[name, id]
            self.net.clients[name].unsubscribe(id)

    def gateway(self):
        gateway = self.net.gateways[self.random.choice(sorted(self.at))]
        if gateway.gateway is None:
            gateway.start()
        else:
            gateway.kill(silently=self.random.random() < 0.5)

    def cable(self):
        if self.cables:
            cable = self.random.choice(self.cables)
            if cable in self.net.memory.cables(cut=True):
                self.net.memory.repair(*cable)
            else:
                self.net.memory.cut(*cable)

    def reached(self, start):
        """Return the routers that hang together with one, over cables and gateways."""
        neighbours = [cable for cable in self.cables if cable in self.net.memory.cables(cut=False)]
        for name, gateway in self.net.gateways.items():
            if gateway.gateway is not None:
                neighbours += [(name, router) for router in self.at[name].split()]
        reached = [start]
        for one in reached:
            reached += [b if a == one else a for a, b in neighbours if one in (a, b) and {a, b} - set(reached)]
        return set(reached)

    def expected(self, message):
        return sorted(
            (source, name, id)
            for source in self.net.routers
            for (name, id), predicate in self.wanted.items()
            if name in self.reached(source) and parse(predicate).matches(message)
        )


@pytest.mark.parametrize("seed", seeds(5))
def test_after_any_schedule_all_that_can_be_reached_over_gateways_get_what_they_want(seed):
    schedule = Schedule(seed)
    schedule.run(15)
    net = schedule.net
    for client in net.clients.values():
        got = [(each.subscription, each.message) for each in client.deliveries]
        assert len(got) == len(set(got)), "something was delivered twice"
    net.settle()
    for message in schedule.random.sample(MESSAGES, 3):
        assert net.deliveries(dict(message.attributes), tuple(message.tags)) == schedule.expected(message)


def settled(seed, changes):
    schedule = Schedule(seed)
    schedule.run(changes)
    schedule.net.settle()
    return schedule, schedule.net, schedule.random


def item(request):
    """Return an item with what is requested."""
    return ItemField(dict(request.attributes), sorted(request.tags), b"", 0)


@pytest.mark.parametrize("seed", seeds(7))
def test_after_any_schedule_a_confirmed_subscription_is_known_wherever_it_can_be_reached(seed):
    schedule, net, random = settled(seed, 10)
    for number in range(4):
        name = random.choice(net.routers)
        client = net.clients[name]
        client.answers.clear()
        client.subscribe(100 + number, f"n = {number}", wait=20.0)
        while not client.answers and net.memory.now < 10_000:
            net.memory.run(0.01)
        assert [(type(each), each.is_confirmed) for each in client.answers] == [(Subscribed, True)]
        found = {source for source, to, _ in net.deliveries({"n": number}) if to == name}
        assert found == schedule.reached(name) & set(net.routers)


@pytest.mark.parametrize("seed", seeds(7))
def test_a_subscription_that_is_confirmed_while_others_change_misses_nothing(seed):
    schedule, net, random = settled(seed, 5)
    waiting, published = {}, []
    for number in range(20):
        name = random.choice(net.routers)
        net.clients[name].subscribe(100 + number, f"n = {number}", wait=30.0)
        waiting[100 + number] = name
        for _ in range(random.randint(1, 20)):
            random.choice((schedule.subscribe, schedule.unsubscribe, lambda: None, lambda: None))()
            net.memory.run(0.02)
            for id, name in confirmed(net, waiting):
                source = random.choice(sorted(schedule.reached(name) & set(net.routers)))
                net.clients[source].publish({"n": id - 100})
                published.append((name, id))
    net.memory.run(30)
    assert {id for id, _ in confirmed(net, waiting)} == {100 + number for number in range(20)} - {
        id for _, id in published
    }
    got = [(name, each.subscription) for name, client in net.clients.items() for each in client.deliveries]
    assert sorted(each for each in got if each[1] >= 100) == sorted(published)


def confirmed(net, waiting):
    """Yield the subscriptions that were confirmed since the last call: id and router."""
    for id, name in list(waiting.items()):
        if any(
            isinstance(each, Subscribed) and each.id == id and each.is_confirmed for each in net.clients[name].answers
        ):
            del waiting[id]
            yield id, name


@pytest.mark.parametrize("seed", seeds(10))
def test_after_any_schedule_a_request_is_answered_if_a_holder_can_be_reached(seed):
    schedule = Schedule(seed)
    random = schedule.random
    net = schedule.net
    offers = {name: random.sample(VALUES, random.randint(0, 2)) for name in net.routers}
    for name, values in offers.items():
        for id, value in enumerate(values):
            net.clients[name].offer(id, f"s = {value}", item)
    schedule.run(10)
    net.settle()
    for name in net.routers:
        for value in VALUES:
            client = net.clients[name]
            client.answers.clear()
            client.request(value, f"s = {value}", timeout=20.0, is_traced=True)
            net.memory.run(5.0)
            (answer,) = client.answers
            holders = {each for each in schedule.reached(name) if value in offers.get(each, ())}
            assert isinstance(answer, PullReply) == bool(holders), (answer.steps, holders)
            if holders:
                assert answer.attributes == {"s": value}
                assert answer.holder in holders


@pytest.mark.parametrize("seed", seeds(2))
def test_domains_deliver_what_one_flat_network_delivers(seed):
    schedule = Schedule(seed)
    schedule.run(0)
    net, one = schedule.net, flat(schedule.domains, schedule.at, seed=seed, scheme=schedule.schemes[0])
    for (name, id), predicate in schedule.wanted.items():
        one.clients[name].subscribe(id, predicate)
    net.settle()
    one.settle()
    for message in schedule.random.sample(MESSAGES, 3):
        said = dict(message.attributes), tuple(message.tags)
        assert net.deliveries(*said) == one.deliveries(*said)
