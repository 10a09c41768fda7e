"""Subscriptions that begin in the past get what the history has from there on: each message once, in its order."""

from dataclasses import dataclass
from random import Random

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.durable_networks import DurableLab

from cbnet.network.durable.histories.followers import Follower
from cbnet.network.durable.histories.replays import HistoryScan
from cbnet.network.durable.home import Home
from cbnet.network.durable.home_log.journal import HISTORY_ID
from cbnet.network.protocol.frames import HistoryStart, Replaying

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.integers(0, 1), st.integers(1, 30)),
        st.tuples(st.just("publish durably"), st.integers(0, 1), st.integers(1, 10)),
        st.tuples(st.just("run"), st.sampled_from([0.001, 0.01, 0.1, 1.0]), st.just(0)),
        st.tuples(st.sampled_from(["replay", "durable"]), st.integers(0, 3), st.integers(1, 20)),
        st.tuples(st.just("slow disk"), st.sampled_from([0.0, 0.005, 0.2]), st.just(0)),
    ),
    min_size=5,
    max_size=30,
)
FAULTS = st.lists(
    st.one_of(
        st.tuples(st.just("kill home"), st.just(0), st.just(0)),
        st.tuples(st.just("kill source"), st.just(0), st.just(0)),
        st.tuples(st.just("cut"), st.sampled_from([0.01, 0.5, 5.0]), st.just(0)),
        st.tuples(st.just("reconnect"), st.integers(0, 5), st.just(0)),
    ),
    max_size=4,
)
NEVER = 1 << 62
PREDICATES = ["x >= 0", "x >= 0 and y = 1", "x > 10", "x >= 0 and #t"]


def is_match(index, attributes):
    """Return whether a message matches one of the predicates, by hand."""
    x, y = attributes["x"], attributes["y"]
    return (True, y == 1, x > 10, False)[index]


@dataclass
class Subscriber:
    predicate: int
    client: object


class ReplayRun:
    """Router b keeps a history; publishers are at a and b, subscribers at b."""

    def __init__(self, *, is_fast):
        own = {"b": {"history": "x >= 0"}}
        self.net = DurableLab("a-b", is_fast=is_fast, diskless=("a",), own=own, heartbeat=0.5, dead=2.0)
        self.net.run(3)
        self.publishers = [self.net.client(router) for router in "ab"]
        self.sent = {}  # attributes by payload
        self.order = {}  # payloads by publisher and way of publishing
        self.subscribers = {"replay": [], "durable": []}

    def step(self, kind, value, count):
        net = self.net
        match kind:
            case "publish" | "publish durably":
                self.publish(kind, value, count)
            case "run":
                net.run(value)
            case "replay" | "durable":
                self.subscribe(kind, value, count)
            case "slow disk":
                net.disks["b"].delay = value
            case "kill home":
                net.kill("b")
                net.start("b")
            case "kill source":
                net.kill("a")
                net.start("a")
            case "cut":
                net.memory.cut("a", "b")
                net.run(value)
                net.memory.repair("a", "b")
            case "reconnect":
                everyone = [*self.subscribers["replay"], *self.subscribers["durable"]]
                if everyone:
                    client = everyone[value % len(everyone)].client
                    client.disconnect()
                    client.reconnect()

    def publish(self, kind, publisher, count):
        for _ in range(count):
            n = len(self.sent)
            payload = b"%d" % n
            self.sent[payload] = {"x": n % 20, "y": n % 3}
            self.order.setdefault((kind, publisher), []).append(payload)
            client = self.publishers[publisher]
            if kind == "publish":
                client.publish(self.sent[payload], payload)
            else:
                client.publish_durable(self.sent[payload], payload, timeout=60.0)

    def subscribe(self, kind, predicate, count):
        client = self.net.client("b")
        start = [HistoryStart(), HistoryStart(age=count / 10), HistoryStart(age=0.0)][count % 3]
        if kind == "replay":
            client.replay(1, PREDICATES[predicate], start, window=count)
        else:
            name = f"d{len(self.subscribers[kind])}"
            client.subscribe_durable(1, name, PREDICATES[predicate], start=start, window=count, ack_wait=1_000)
        self.subscribers[kind].append(Subscriber(predicate, client))

    def finish(self):
        self.net.disks["b"].delay = 0.005
        self.net.run(30)

    def log(self):
        """Return offset and payload of each message in the history on disk."""
        entries = self.net.disks["b"].entries(HISTORY_ID)
        return [(offset, payload(entry.content)) for offset, entry in entries.items() if entry.content]

    def expected(self, subscriber, first):
        return [
            text for offset, text in self.log() if offset >= first and is_match(subscriber.predicate, self.sent[text])
        ]


def payload(content):
    return msgspec.msgpack.decode(content)[2]


def first_offset(client):
    """Return where a subscription began; above all offsets if its client left before it was answered."""
    return next((answer.first for answer in client.answers if isinstance(answer, Replaying)), NEVER)


def run(steps, *, is_fast=False):
    done = ReplayRun(is_fast=is_fast)
    for step in steps:
        done.step(*step)
    done.finish()
    return done


def check(done):
    """Compare all subscribers with the history on disk, filtered by hand."""
    for subscriber in done.subscribers["replay"]:
        received = [each.payload for each in subscriber.client.stored]
        assert received == done.expected(subscriber, first_offset(subscriber.client))
    for subscriber in done.subscribers["durable"]:
        if first_offset(subscriber.client) == NEVER:
            continue  # it exists, and the answer was lost
        by_offset = {each.offset: each.payload for each in subscriber.client.stored}
        assert sorted(by_offset) == list(range(1, len(by_offset) + 1))
        received = [text for _, text in sorted(by_offset.items())]
        assert received == done.expected(subscriber, first_offset(subscriber.client))


SETTINGS = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


@SETTINGS
@given(STEPS, st.booleans())
def test_there_is_no_seam_under_load(steps, is_fast):
    done = run(steps, is_fast=is_fast)
    check(done)
    texts = [text for _, text in done.log()]
    assert sorted(texts) == sorted(done.sent)  # nothing is missing in the history, nothing is there twice
    for order in done.order.values():
        assert [text for text in texts if text in order] == order


@SETTINGS
@given(STEPS, FAULTS, st.randoms(use_true_random=False))
def test_there_is_no_seam_under_faults(steps, faults, random):
    mixed = [*steps]
    for fault in faults:
        mixed.insert(random.randrange(len(mixed) + 1), fault)
    check(run(mixed))


# --- broken builds


def schedule(seed):
    """Return steps under load with some faults."""
    random = Random(seed)
    choices = [
        lambda: ("publish", random.randrange(2), random.randint(1, 30)),
        lambda: ("publish durably", random.randrange(2), random.randint(1, 10)),
        lambda: ("run", random.choice([0.001, 0.01, 0.1]), 0),
        lambda: (random.choice(["replay", "durable"]), random.randrange(2), random.randint(1, 20)),
        lambda: ("slow disk", random.choice([0.0, 0.005, 0.2]), 0),
        lambda: (random.choice(["kill home", "reconnect", "cut"]), 0, 0),
    ]
    return [random.choices(choices, [8, 4, 6, 4, 2, 1])[0]() for _ in range(30)]


def is_found(seeds=30):
    """Return whether one of the schedules shows a difference to the history on disk."""
    for seed in range(seeds):
        try:
            check(run(schedule(seed)))
        except AssertionError:
            return True
    return False


def test_a_search_that_ends_before_messages_on_their_way_to_the_disk_is_found(monkeypatch):
    end = HistoryScan.reached_end
    monkeypatch.setattr(HistoryScan, "reached_end", lambda self, _: end(self, []))
    assert is_found()


def test_a_reader_that_takes_what_is_not_on_disk_is_found(monkeypatch):
    """After a crash, other messages have these offsets."""
    finish_turn = Home.finish_turn

    def finish_early(self):
        finish_turn(self)
        self._written(self._log.next, [*self.subscriptions], {})

    monkeypatch.setattr(Home, "finish_turn", finish_early)
    assert is_found()


def test_a_reader_that_skips_what_does_not_fit_its_window_is_found(monkeypatch):
    monkeypatch.setattr(Follower, "take", lambda self, *of, take=Follower.take: take(self, *of) or True)
    assert is_found()
