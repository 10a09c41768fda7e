"""The fast path of a router and its state machine do the same with the same bytes.

`python -m tests.support.twin_routers --seconds 600` runs more streams.
"""

import pytest
from support.memory_networks import Alone, hello
from support.seeds import seeds
from support.twin_routers import TwinStream

from cbnet.language.syntax.byte_form import predicate_to_bytes
from cbnet.network.forwarding.forwarding_table import InternalSubscriber
from cbnet.network.link.counters import Event
from cbnet.network.link.settings import LIVE_SCHEMES
from cbnet.network.protocol.frames import Packet, Publish, Subscribe, TraceMark
from cbnet.network.protocol.wire import encode
from cbnet_lab.faults.random_schedule import RandomSchedule


@pytest.mark.parametrize("seed", range(8))
def test_same_bytes_give_the_same_frames_and_counters(seed):
    sent, handled = TwinStream(seed).run(120)
    assert sent > 100
    assert handled > 1_000


def test_same_with_a_compiled_table():
    stream = TwinStream(101)  # without conditions, which Python would match
    stream.fill(6_000)
    assert stream.run(100)[1] > 1_000


@pytest.mark.parametrize("scheme", LIVE_SCHEMES)
def test_after_any_schedule_deliveries_are_those_of_the_reference(scheme):
    handled = 0
    for seed in seeds(7):
        schedule = RandomSchedule(seed, scheme, is_fast=True)
        verdict = schedule.run(25)
        assert verdict.violations == {}, (seed, scheme)
        handled += sum(host.bytes.handled for host in schedule.memory.hosts.values() if host.bytes)
    assert handled > 1_000


class Fast(Alone):
    """A router with the links 1, of a client, and 2, of a neighbour."""

    def __init__(self, **settings):
        super().__init__(**settings)
        self.client_link(1)
        self.leaf(2, "b", wants=["x = 1"])
        self.outputs = {link: self.router.links.get(link).output for link in (1, 2)}
        self.say(1, Subscribe(5, "x > 0", 0))

    def is_handled(self, link, frame):
        """Pass a frame to the fast path; return whether it was handled there, and check that else nothing has changed."""
        before = dict(self.router.counters)
        data = encode(frame)
        progress = self.router.forward(link, data, 0, len(data), self.now)
        sent = {each: output.take() for each, output in self.outputs.items()}
        if progress.end == 0:
            assert set(sent.values()) == {b""}
            assert not progress.written
            assert dict(self.router.counters) == before
        return progress.end == len(data)

    def packet(self, **changes):
        plain = {
            "source": "b",
            "incarnation": 1,
            "number": 1,
            "hops": 0,
            "tree": 0,
            "side": self.tree_link(2).near,
            "tries": 0,
        }
        return Packet(**{**plain, "attributes": {"x": 1}, "tags": [], "payload": b"", **changes})


def publish(**changes):
    return Publish(
        **{"number": 1, "attributes": {"x": 1}, "tags": [], "payload": b"", "wants_answer": False, **changes}
    )


def test_plain_messages_are_handled():
    fast = Fast()
    assert fast.is_handled(1, publish())
    assert fast.is_handled(1, publish(wants_answer=True, tags=["a"], payload=b"x" * 1000))
    assert fast.is_handled(2, fast.packet())
    assert fast.is_handled(2, fast.packet(origin="far", number=2))
    assert fast.router.counters[Event.PUBLISHED] == 2
    assert fast.router.counters[Event.PACKETS_RECEIVED] == 2
    assert fast.router.counters[Event.PACKETS_SENT] == 2
    assert fast.router.counters[Event.DELIVERED] == 4


@pytest.mark.parametrize(
    "changes",
    [{"attributes": {"x": [1]}}, {"attributes": {"x": {"y": 1}}}, {"attributes": {"#": 1}}, {"tags": ["a", "a"]}],
)
def test_an_unusual_message_is_left_to_python(changes):
    fast = Fast()
    assert not fast.is_handled(1, publish(**changes))
    assert not fast.is_handled(2, fast.packet(**changes))


@pytest.mark.parametrize(
    "changes", [{"hops": 255}, {"mark": TraceMark(1, True)}, {"side": 7}, {"source": "é" * 33}, {"origin": "é" * 33}]
)
def test_an_unusual_packet_is_left_to_python(changes):
    fast = Fast()
    assert not fast.is_handled(2, fast.packet(**changes))


def test_frames_of_the_wrong_peer_are_left_to_python():
    fast = Fast()
    assert not fast.is_handled(2, publish())
    assert not fast.is_handled(1, fast.packet())
    assert not fast.is_handled(1, hello("client", "c"))


def test_messages_for_other_domains_are_left_to_python():
    fast = Fast()
    fast.router.subscriptions.set(InternalSubscriber.OTHER_DOMAINS, 0, predicate_to_bytes("y = 1"))
    assert fast.is_handled(1, publish())
    assert not fast.is_handled(1, publish(attributes={"x": 1, "y": 1}))
    fast.router.subscriptions.remove(InternalSubscriber.OTHER_DOMAINS, 0)
    assert fast.is_handled(1, publish(attributes={"x": 1, "y": 1}))


def test_conditions_are_left_to_python():
    fast = Fast()
    fast.say(1, Subscribe(6, "x < y", 0))
    assert not fast.is_handled(1, publish())


def test_packets_toward_a_link_that_is_down_are_left_to_python():
    fast = Fast()
    assert fast.is_handled(1, publish())
    fast.close(2)
    assert not fast.is_handled(1, publish())  # the newest version still has the link
    assert not fast.is_handled(1, publish(attributes={"x": 2}))  # nor does it tell any more what is wanted behind it


def test_a_subscription_that_was_replaced_or_removed_gets_nothing():
    fast = Fast()
    fast.close(2)
    fast.wait(1.0)
    assert fast.is_handled(1, publish())
    fast.say(1, Subscribe(5, "x < 0", 0), Subscribe(6, "x = 1", 0))
    before = fast.router.counters[Event.DELIVERED]
    assert fast.is_handled(1, publish())
    assert fast.router.counters[Event.DELIVERED] == before + 1
    fast.close(1)
    assert len(fast.router.fib) == 0
