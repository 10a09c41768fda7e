"""Law: when a network is whole again, all routers know the durable subscriptions of each home, and nothing else."""

from copy import deepcopy
from random import Random

import pytest
from support.seeds import seeds
from tests.support.durable_networks import DurableLab
from tests.support.signing_routers import signing

from cbnet.network.durable.records import home_table
from cbnet.network.durable.records.home_records import HomeRecords
from cbnet.network.linkstate.records import version_of
from cbnet.network.protocol.frames import DurableRemove, DurableSubscribe, ForgetHome

LINKS = ("a-b", "b-c", "c-d", "d-a", "b-e")
COURSES = 25
ROUNDS = 4


class Course:
    """A network that is cut and whole again several times; its homes change, are forgotten, and are restored."""

    def __init__(self, seed, access=None):
        self.random = Random(seed)
        self.net = DurableLab(" ".join(LINKS), seed, access=access)
        self.clients = {name: self.net.client(name) for name in self.net.names}
        self.backups = {name: deepcopy(disk._written) for name, disk in self.net.disks.items()}
        self.created = 0
        for _ in range(ROUNDS):
            self.separate()
            for _ in range(self.random.randrange(8)):
                action = self.random.choice([self.subscribe, self.subscribe, self.remove, self.forget, self.forget,
                                             self.kill, self.back_up, self.restore])  # fmt: skip
                action(self.random.choice(self.net.names))
                self.net.run(self.random.choice([0.0, 0.01, 0.3, 2.0]))
            self.join()

    def separate(self):
        for link in self.random.sample(LINKS, self.random.randrange(len(LINKS))):
            self.net.memory.cut(*link.split("-"))
        self.net.run(self.random.choice([0.0, 1.0]))

    def join(self):
        for link in LINKS:
            self.net.memory.repair(*link.split("-"))
        for name in self.net.names:
            self.start(name)
        self.net.run(self.random.choice([0.5, 3.0]))

    def kill(self, name):
        if self.net.memory.hosts[name].router is not None:
            self.net.kill(name)

    def start(self, name):
        if self.net.memory.hosts[name].router is None:
            self.net.start(name)
            self.clients[name].reconnect()

    def subscribe(self, name):
        self.created += 1
        frame = DurableSubscribe(self.created, str(self.created), f"x > {self.created}", 0.0, 10, 5.0, None)
        self.clients[name].send(frame)

    def remove(self, name):
        self.clients[name].send(DurableRemove(1, str(self.random.randint(1, self.created + 1))))

    def forget(self, name):
        self.clients[self.random.choice(self.net.names)].send(ForgetHome(1, name))

    def back_up(self, name):
        self.backups[name] = deepcopy(self.net.disks[name]._written)

    def restore(self, name):
        self.kill(name)
        self.net.disks[name]._written = deepcopy(self.backups[name])
        self.start(name)

    def is_agreed(self):
        """Return whether all routers know the subscriptions that there are."""
        self.net.run(10)
        present = {name: self.present(name) for name in self.net.names if self.present(name)}
        return all(self.known(name) == present for name in self.net.names)

    def known(self, name):
        table = self.net.memory.router(name).durable.records.table
        return {each.owner: {name for _, name in each.names} for each in table if each.names}

    def present(self, name):
        return {each.saved.name for each in self.net.memory.router(name).durable.registry.all(None)}


@pytest.mark.parametrize("max_empty", [home_table.MAX_EMPTY, 1])
def test_all_routers_agree_on_the_homes(max_empty, monkeypatch):
    monkeypatch.setattr(home_table, "MAX_EMPTY", max_empty)
    assert [seed for seed in seeds(12) if not Course(seed).is_agreed()] == []


def test_all_routers_agree_on_the_homes_if_records_are_signed():
    access = signing("abcde", "abcde")
    assert [seed for seed in seeds(6) if not Course(seed, access).is_agreed()] == []


def test_a_build_that_forgets_homes_in_the_incarnation_of_their_owner_is_found(monkeypatch):
    def forget(records, owner):
        record = records.table.get(owner)
        if record is not None and record.names:
            sequence, incarnation = version_of(record).next(record.incarnation)
            records.table.install(empty := type(record)(owner, incarnation, sequence, "", [], []), 0.0)
            records.flood(empty)
        return True

    monkeypatch.setattr(HomeRecords, "forget", forget)
    assert not all(Course(seed).is_agreed() for seed in range(COURSES))
