"""The plan of a history: network, clients and faults, all determined by the seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from cbnet.network.transport.journals.leased_journal import LEASE
from cbnet_lab.faults.driver.database import DATABASE_FAULTS, DatabaseKind
from cbnet_lab.faults.driver.driver import Fault, FaultRate, random_schedule
from cbnet_lab.faults.driver.memory import SUSPEND_WRITER
from cbnet_lab.faults.record import FIRST, SubscribeEvent, SubscriptionKind

PREDICATES: Final = ("k >= 0", "k in (0, 2, 4)", "k < 2")
LOGS: Final = {  # predicate of a log -> predicates of subscriptions that it can serve
    "k >= 0": ("k >= 0", "k in (0, 2, 4)", "k >= 0 and k < 2"),
    "k < 4": ("k < 4", "k in (0, 2)", "k < 2"),
}
KEYS: Final = 5  # k is below this number
OWN, OTHER = "own", "other"  # accounts: of publishers and most subscribers, and of full subscriptions
_AGES = (FIRST, FIRST, 0.0, 0.5, 4.0)  # seconds
_MAX_PAST = 6  # subscriptions that start in the past

# Processes: newly started routers answer after 3 s.
_FIRST, _PROCESS_SECONDS = 4.0, 18.0
_ROUTER_FAULTS = ("kill", "torn write", "stop", "full disk")
_LINK_FAULTS = ("cut", "silent cut", "slow link")
_DATABASE_ROUTER_FAULTS = ("kill", "stop")  # where the journals are in a database
_DATABASES = 0.4  # share of histories whose journals are in a database, with a home group
_REPLICAS = 0.5  # share of these with a synchronous replica
PROCESS_FAULTS: Final = (*_ROUTER_FAULTS, *_LINK_FAULTS, "leave", *DATABASE_FAULTS)

# In memory: many short histories find more violations than a few long ones.
_REPLACED_SECONDS = 20.0
_MEMORY_SECONDS = (3.0, 6.0, 12.0, 40.0)
_REPLAYED, _PLAIN = 0.35, 0.35  # shares of histories with subscriptions from the past, and with plain subscribers
_REPLACED = 0.15  # share of histories in which homes lose their journals
_LIMITED = 0.3  # share of histories with subscriptions of another account that are often full
_GROUPS = 0.4  # share of histories with a home group
GROUP: Final = "g"  # its home
_LATE = 0.5  # share of these in which a transaction of an earlier holder arrives
KILL_FOR_GOOD: Final = "kill for good"
DATABASE_AWAY: Final = "database away"
BURSTS: Final = "bursts"  # a publisher publishes more
CLOCK_RATES: Final = (0.68, 0.68, 1.4)  # rates of the clock by which a router counts its lease


@dataclass(frozen=True)
class PlannedSubscription:
    """A subscription, and the clients that share it if it is durable."""

    name: str
    home: str
    predicate: str
    clients: Sequence[str]
    kind: SubscriptionKind = "durable"
    age: float | None = None  # of the first message, if it starts in the past
    at: float = 0.0  # seconds from the beginning
    limit: int = 0  # messages that it keeps, if its account is not that of the publishers

    def event(self, at: float, client: str, ack_wait: float) -> SubscribeEvent:
        """Return the event that records the subscription of a client."""
        return SubscribeEvent(
            at, client, self.name, self.home, self.predicate, ack_wait, self.kind, self.age, self.limit
        )


@dataclass(frozen=True)
class HistoryPlan:
    """Everything that the seed determines."""

    routers: Sequence[str]
    links: Sequence[tuple[str, str]]
    subscriptions: Sequence[PlannedSubscription]
    publishers: Mapping[str, Sequence[str]]  # by name: the routers to which it connects, in turn
    faults: Sequence[Fault]
    seconds: float = _PROCESS_SECONDS
    logs: Mapping[str, str] = field(default_factory=dict)  # by home: the predicate of its log
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by home: the routers that may hold it
    database: DatabaseKind = ""  # of the journals of processes; by default each has a folder
    has_journals: bool = False  # whether all routers have one, so that the network knows each home that was known

    @property
    def homes(self) -> list[str]:
        """The homes that store durable subscriptions."""
        return sorted({each.home for each in self.subscriptions if each.kind == "durable"})

    def routers_of(self, home: str) -> Sequence[str]:
        """Return the routers that may hold a home."""
        return self.groups.get(home, (home,))

    def home_of(self, router: str) -> str:
        """Return the home that a router may hold."""
        return next((home for home, routers in self.groups.items() if router in routers), router)

    @classmethod
    def of_processes(cls, seed: int) -> HistoryPlan:
        """Return the plan of a history over real processes."""
        random, chance = Random(f"processes {seed}"), Random(f"databases {seed}")
        routers, links = _network(random, (1, 2, 3, 3, 3, 4), extra=1)
        groups: dict[str, list[str]] = {}
        logs: dict[str, str] = {}
        database: DatabaseKind = ""
        if chance.random() < _DATABASES:
            database = "replicated" if chance.random() < _REPLICAS else "alone"
            groups = {GROUP: chance.sample(routers, min(len(routers), chance.randint(2, 3)))}
            singles = [each for each in routers if each not in groups[GROUP]]
            subscriptions = _durable(random, [GROUP], 1) + (_durable(random, singles, 1) if singles else [])
        else:
            subscriptions = _durable(random, routers, 2)
            logs = {subscriptions[0].home: "k >= 0"} if random.random() < 0.4 else {}
        subscriptions += [
            PlannedSubscription(
                f"log of {home}", home, random.choice(PREDICATES[:2]), [f"reader of {home}"], "replay", FIRST
            )
            for home in logs
        ]
        subscriptions += _limited(f"processes {seed}", [each for each in subscriptions if each.kind == "durable"])
        clients = [client for each in subscriptions for client in each.clients]
        parts: dict[str, Sequence[str]] = {
            **dict.fromkeys(_DATABASE_ROUTER_FAULTS if groups else _ROUTER_FAULTS, routers),
            **dict.fromkeys(_LINK_FAULTS, _names(links)),
            **dict.fromkeys(DATABASE_FAULTS if groups else (), tuple(groups)),
            "leave": clients,
        }
        rates = [FaultRate(kind, some, 0.1, 2.5) for kind, some in parts.items()]
        faults = random_schedule(random, rates, _FIRST, _PROCESS_SECONDS)
        publishers = _publishers(random, routers)
        return cls(
            routers, links, subscriptions, publishers, faults, logs=logs, groups=groups, database=database
        )  # fmt: skip

    @classmethod
    def in_memory(cls, seed: int) -> HistoryPlan:
        """Return the plan of a history in simulated time."""
        if Random(f"journals {seed}").random() < _REPLACED:
            return cls.of_replaced_journals(seed)
        random = Random(f"memory {seed}")
        seconds = random.choice(_MEMORY_SECONDS)
        routers, links = _network(random, (1, 2, 3, 3, 4, 5), extra=2)
        is_early = random.random() < 0.8  # otherwise subscriptions are made under faults
        chance = Random(f"group {seed}")
        groups: dict[str, list[str]] = {}
        if len(routers) > 1 and chance.random() < _GROUPS:
            groups = {GROUP: chance.sample(routers, chance.randint(2, min(3, len(routers))))}
        group = groups.get(GROUP, [])
        singles = [each for each in routers if each not in group]
        mortal = _mortal(chance, routers, links, group)
        last = 0.0 if is_early else seconds
        subscriptions = _durable(random, singles, 3, last) if singles else []
        subscriptions = [each for _ in groups for each in _durable(random, [GROUP], 1, last)] + subscriptions
        logs: dict[str, str] = {}
        if random.random() < _REPLAYED:
            homes = list(dict.fromkeys(each.home for each in subscriptions))
            logs = {
                home: random.choice([*LOGS]) for home in random.sample(homes, random.randint(1, min(2, len(homes))))
            }
            count = random.randint(2, _MAX_PAST)
            subscriptions += [_past(random, number, logs, seconds) for number in range(count)]
        if random.random() < _PLAIN and not mortal:  # a plain client may get again what comes over another router
            subscriptions += [_plain(random, number, routers) for number in range(3)]
        subscriptions += _limited(seed, [each for each in subscriptions if each.home not in group])
        publishers = _publishers(random, routers)
        clients = [client for each in subscriptions for client in each.clients]
        rates = [
            FaultRate("kill", routers, 0.19, 4.0), FaultRate("silent kill", routers, 0.08, 4.0),
            FaultRate("cut", _names(links), 0.08, 4.0), FaultRate("half-noticed cut", _names(links), 0.08, 4.0),
            FaultRate("silent cut", _names(links), 0.08, 4.0), FaultRate("move", [*publishers], 0.09),
            FaultRate("clock jump", routers, 0.09, sizes=(-100.0, -1.0, 1.0, 5.0, 100.0)),
            FaultRate("full disk", singles, 0.03, 4.0), FaultRate("slow disk", singles, 0.06, 4.0, (0.001, 0.1, 2.0)),
            FaultRate("leave", [*clients, *publishers], 0.09, 4.0),
            FaultRate("leave silently", [*clients, *publishers], 0.09, 4.0),
            FaultRate("impersonate", ["x0", "x1"], 0.08),
        ]  # fmt: skip
        if groups:
            rates += [
                FaultRate("suspend", group, 0.09, 4.0), FaultRate("database cut", group, 0.15, 6.0),
                FaultRate("slow clock", group, 0.15, 20.0, CLOCK_RATES), FaultRate(DATABASE_AWAY, [GROUP], 0.05, 4.0),
            ]  # fmt: skip
        faults = random_schedule(random, rates, 0.0, seconds)
        faults += [Fault(chance.uniform(0.0, seconds), KILL_FOR_GOOD, each) for each in mortal]
        if groups and chance.random() < _LATE:
            readers = [client for each in subscriptions if each.home == GROUP for client in each.clients]
            publishers = {**publishers, "late": chance.sample(routers, 1)}
            faults += _late_transaction(chance, readers, [*publishers], seconds)
            seconds = max(seconds, *(each.at + _MEMORY_SECONDS[0] for each in faults))
        return cls(routers, links, subscriptions, publishers, faults, seconds, logs, groups)

    @classmethod
    def of_replaced_journals(cls, seed: int) -> HistoryPlan:
        """Return the plan of a history in simulated time whose homes start again with empty or restored journals.

        The other routers run, as a home that has no neighbour for some seconds cannot learn what it has lost.
        """
        random = Random(f"replaced journals {seed}")
        routers, links = _network(random, (2, 3, 3, 4, 5), extra=2)
        subscriptions = _durable(random, routers, 2)
        home = random.choice(subscriptions).home
        subscriptions += [
            PlannedSubscription(f"{predicate} late at {home}", home, predicate, ["late"], at=random.uniform(0.5, 6.0))
            for predicate in random.choices(PREDICATES, k=random.randint(0, 1))
        ]
        publishers = _publishers(random, routers)
        clients = [client for each in subscriptions for client in each.clients]
        homes = sorted({each.home for each in subscriptions})
        rates = [
            FaultRate("lost journal", homes[:1], 0.06, 2.0),
            FaultRate("restored journal", homes[:1], 0.12, 2.0, (0.5, 2.0, 8.0)),
            FaultRate("move", [*publishers], 0.09),
            FaultRate("slow disk", routers, 0.06, 4.0, (0.001, 0.1, 2.0)),
            FaultRate("leave", [*clients, *publishers], 0.2, 4.0),
        ]
        faults = random_schedule(random, rates, 0.0, _REPLACED_SECONDS)
        return cls(routers, links, subscriptions, publishers, faults, _REPLACED_SECONDS, has_journals=True)


def _network(random: Random, sizes: Sequence[int], extra: int) -> tuple[list[str], list[tuple[str, str]]]:
    """Return a random connected network: a tree, and at most `extra` more links."""
    routers = [f"r{n}" for n in range(random.choice(sizes))]
    links = [(routers[random.randrange(n)], routers[n]) for n in range(1, len(routers))]
    for _ in range(random.randint(0, extra) if len(routers) > 2 else 0):
        a, b = random.sample(routers, 2)
        if (a, b) not in links and (b, a) not in links:
            links.append((a, b))
    return routers, links


def _durable(random: Random, routers: Sequence[str], most: int, last: float = 0.0) -> list[PlannedSubscription]:
    homes = random.sample(routers, random.randint(1, min(most, len(routers))))
    subscriptions = []
    for home in homes:
        predicate, at = random.choice(PREDICATES), random.uniform(0.0, last)
        clients = [f"c{n} at {home}" for n in range(random.randint(1, 2))]
        subscriptions.append(PlannedSubscription(f"{predicate} at {home}", home, predicate, clients, at=at))
    return subscriptions


def _limited(seed: object, others: Sequence[PlannedSubscription]) -> list[PlannedSubscription]:
    """Return subscriptions of another account, which are often full, in some histories."""
    random = Random(f"limited {seed}")
    if random.random() >= _LIMITED:
        return []
    home = random.choice(others).home
    return [
        PlannedSubscription(
            f"{predicate} of limited {n} at {home}", home, predicate, [f"limited {n}"], limit=random.choice((1, 3, 20))
        )
        for n, predicate in enumerate(random.choices(PREDICATES, k=random.randint(1, 2)))
    ]


def _past(random: Random, number: int, logs: Mapping[str, str], seconds: float) -> PlannedSubscription:
    home = random.choice(sorted(logs))
    name, predicate = f"past {number} at {home}", random.choice(LOGS[logs[home]])
    kind: SubscriptionKind = "durable" if random.random() < 0.3 else "replay"
    at = random.uniform(0.0, seconds / 2) if number else seconds
    return PlannedSubscription(f"{predicate} of {name}", home, predicate, [name], kind, random.choice(_AGES), at)


def _plain(random: Random, number: int, routers: Sequence[str]) -> PlannedSubscription:
    home, predicate = random.choice(routers), random.choice(PREDICATES)
    name = f"plain {number} at {home}"
    return PlannedSubscription(f"{predicate} of {name}", home, predicate, [name], "plain")


def _publishers(random: Random, routers: Sequence[str]) -> dict[str, Sequence[str]]:
    return {f"p{n}": random.sample(routers, random.randint(1, len(routers))) for n in range(random.randint(1, 3))}


def _mortal(
    random: Random, routers: Sequence[str], links: Sequence[tuple[str, str]], group: Sequence[str]
) -> list[str]:
    """Return routers of a group that may be killed for good: one is left, and the others stay connected."""
    mortal: list[str] = []
    for each in random.sample(group, random.randint(0, max(0, len(group) - 1))):
        lefts = ([router for router in routers if router not in dead] for dead in ({each}, {*mortal, each}))
        if all(_is_connected(left, links) for left in lefts):  # one that does not run then is not killed
            mortal.append(each)
    return mortal


def _late_transaction(
    random: Random, readers: Sequence[str], publishers: Sequence[str], seconds: float
) -> list[Fault]:  # fmt: skip
    """Return faults by which a transaction of a holder arrives after its lease, and the next holder then dies.

    A third one reads what both have stored, as their readers are away.
    """
    at, duration = random.uniform(0.0, seconds), LEASE + random.uniform(0.5, 3.5)
    kind, end = random.choice((SUSPEND_WRITER, "database cut")), at + duration
    return [
        Fault(at, kind, GROUP, duration),
        *(Fault(at + random.uniform(0.0, 1.0), BURSTS, each) for each in publishers for _ in range(3)),
        Fault(end + random.uniform(0.1, 1.0), "kill", GROUP, random.uniform(1.0, 4.0)),
        *(Fault(at, "leave", each, duration + random.uniform(2.0, 6.0)) for each in readers),
    ]


def _is_connected(routers: Sequence[str], links: Sequence[tuple[str, str]]) -> bool:
    reached = [routers[0]]
    for each in reached:  # grows during the loop
        ends = [{*link} - {each} for link in links if each in link]
        reached += [other for (other,) in ends if other in routers and other not in reached]
    return len(reached) == len(routers)


def _names(links: Sequence[tuple[str, str]]) -> list[str]:
    return ["-".join(link) for link in links]
