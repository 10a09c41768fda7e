"""Random operations of a router, for journals that must do what the simulated disk does."""

import msgspec
from support.journal_files import opened, stored

from cbnet.network.durable.home_log.journal import (
    Assign,
    Discard,
    DropHome,
    DropSet,
    DropSubscription,
    DropWindow,
    Loss,
    Read,
    SaveCursor,
    SaveHome,
    SaveLosses,
    SaveSet,
    SaveWindow,
    Stretch,
)
from cbnet.network.protocol.frames import HomeRecord


def home(name, sequence=1):
    return SaveHome(name, msgspec.msgpack.encode(HomeRecord(name, 1, sequence, "", [], [])))


def perform(journal, memory, operations):
    writes = [each for each in operations if not isinstance(each, Read)]
    journal.perform(writes)
    for each in writes:
        memory.perform(each)
    for each in operations:
        if isinstance(each, Read):
            assert journal.read(each) == memory.read(each)


class Scripted:
    """Operations that a router might perform."""

    def __init__(self, random):
        self._random = random
        self._subscriptions = []
        self._sets = {0: ()}
        self._messages = {}  # set by position
        self._next = 1

    def operations(self):
        random = self._random
        kind = random.randrange(11)
        if kind == 0 or not self._subscriptions:
            id = random.randrange(1, 5)
            self._subscriptions = [*{*self._subscriptions, id}]
            self._sets[id] = (id,)
            return opened(id, position=self._next, messages=random.randrange(5))
        id = random.choice(self._subscriptions)
        if kind == 1 and random.random() < 0.3:
            self._subscriptions.remove(id)
            return [DropSubscription(id)]
        if kind <= 4:
            set_id = self._messages[self._next] = random.choice([*self._sets][1:])
            self._next += 1
            return [stored(self._next - 1, bytes(random.randrange(40)), set_id=set_id)]
        first = random.randrange(self._next + 1)
        if kind == 5:
            end = first + random.randrange(4)
            self._messages = {position: of for position, of in self._messages.items() if not first <= position < end}
            return [SaveCursor(each, (Stretch(max(end, 1), 9, 0),)) for each in self._subscriptions] + [
                Discard(first, end)
            ]
        if kind == 6:
            return [random.choice([DropWindow(3), SaveWindow(3, random.randrange(9), b"\x05")])]
        if kind == 7:
            return [random.choice([home("b", random.randrange(9)), DropHome("b")])]
        if kind == 8:
            pending = tuple(Loss(number, random.randrange(3), "x" * number) for number in range(random.randrange(3)))
            return [SaveLosses(random.choice([id, 9]), random.randrange(99), pending)]
        if kind == 9 and self._messages:
            position, set_id = random.choice([*self._messages]), max(self._sets) + 1
            self._sets[set_id] = self._sets[self._messages[position]]
            before, self._messages[position] = self._messages[position], set_id
            unused = before > 4 and before not in self._messages.values()
            if unused:
                del self._sets[before]
            dropped = [DropSet(before)] if unused else []
            return [SaveSet(set_id, self._sets[set_id]), Assign(position, set_id), *dropped]
        return [Read(random.randrange(9), random.sample(range(self._next + 1), min(3, self._next)))]
