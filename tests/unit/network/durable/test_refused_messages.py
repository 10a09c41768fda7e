"""What a home has refused stays refused."""

from support.durable_networks import DurableLab, payloads

from cbnet.network.durable import publisher_windows
from cbnet.network.durable.publisher_windows import RefusedMessages
from cbnet.network.protocol.frames import DurableLimits, DurableMark, Packet, StoredEntry
from cbnet.network.protocol.wire import encode

FULL = "durable subscription billing is full: 1 messages, 9 bytes"


class Copies:
    """A home with a subscription for one message, and copies of messages that arrive from their source."""

    def __init__(self):
        self.net = DurableLab("a-b")
        self.bob, self.host = self.net.client("b"), self.net.memory.hosts["b"]
        self.bob.acknowledges = lambda _: False
        self.bob.subscribe_durable(1, "billing", "x > 0", limits=DurableLimits(messages=1))
        self.net.run(1)
        self.answers = []
        self.net.memory.router("a").durable.publications.stored = lambda frame: self.answers.extend(frame.entries)

    def arrive(self, number, previous=0, floor=1):
        """Return the answers to a message, as number and problem."""
        self.answers.clear()
        link = next(end for end in self.host.ends.values() if end.peer.owner is self.net.memory.hosts["a"])
        mark = DurableMark(floor, {"b": previous}, False)
        self.host.received_bytes(
            link, encode(Packet("a", 77, number, 1, 0, 0, 0, {"x": 1}, [], b"%d" % number, durable=mark))
        )
        self.net.run(0.5)
        return [(each.number, each.problem) for each in self.answers]

    def make_room(self):
        self.bob.acknowledge(1, up_to=100)
        self.net.run(0.5)


def test_a_copy_of_a_refused_message_is_refused_though_there_is_room_again():
    home = Copies()
    assert home.arrive(1) == [(1, "")]
    assert home.arrive(2) == [(2, FULL)]
    home.make_room()
    assert home.arrive(2) == [(2, FULL)]
    assert home.arrive(3) == [(3, "")]
    assert payloads(home.bob) == [b"1", b"3"]


def test_a_message_of_a_publisher_that_has_nothing_stored_stays_refused_below_its_floor():
    home = Copies()
    home.net.client("a").publish({"x": 1}, b"0")
    home.net.run(1)
    assert home.arrive(2) == [(2, FULL)]
    assert home.arrive(5, floor=5) == [(5, FULL)]
    home.make_room()
    assert home.arrive(2) == [(2, FULL)]
    assert payloads(home.bob) == [b"0"]


def test_a_refused_message_holds_no_later_one_back():
    home = Copies()
    home.arrive(1)
    home.arrive(2, previous=1)
    home.make_room()
    assert home.arrive(3, previous=2) == [(3, "")]


def answer(publisher, number):
    return StoredEntry(publisher, number, 0, 0, "full")


def test_a_refused_message_is_forgotten_when_its_publisher_does_not_wait_for_it_any_more():
    refused = RefusedMessages()
    for number in (4, 2, 3):
        refused.add(answer(1, number))
    refused.add(answer(2, 1))
    refused.advance(1, 4)
    assert [refused.answer(1, number) for number in (2, 3, 4)] == [None, None, answer(1, 4)]
    assert refused.answer(2, 1) == answer(2, 1)
    refused.advance(1, 5)
    refused.advance(3, 5)
    assert len(refused) == 1


def test_refused_messages_are_bounded_and_the_oldest_are_forgotten(monkeypatch):
    monkeypatch.setattr(publisher_windows, "MAX_REFUSED", 3)
    refused = RefusedMessages()
    for publisher, number in ((1, 1), (2, 1), (1, 2), (1, 3), (2, 2)):
        refused.add(answer(publisher, number))
    assert len(refused) == 3
    known = [(publisher, number) for publisher, number in ((1, 1), (1, 2), (1, 3), (2, 1), (2, 2))
             if refused.answer(publisher, number) is not None]  # fmt: skip
    assert known == [(1, 2), (1, 3), (2, 2)]
