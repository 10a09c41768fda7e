"""Which messages of a publisher a home knows, how many publishers, and for how long."""

import pytest
from support.durable_networks import DurableLab, payloads

from cbnet.network.client.durable.durable_publishing import DurablePublisher
from cbnet.network.durable import publisher_windows
from cbnet.network.durable.home_log.journal import DropWindow, SaveWindow
from cbnet.network.durable.publisher_windows import PUBLISHER_AGE, PublisherWindow, PublisherWindows
from cbnet.network.link.context import RouterContext
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.durable_frames import MAX_UNSETTLED
from cbnet.network.protocol.fields import MAX_SECONDS


def test_messages_are_known_from_when_they_are_stored_or_below_the_floor():
    window = PublisherWindow(7)
    for number in (1, 3, 4):
        window.add(number)
    assert [window.has(number) for number in range(1, 6)] == [True, False, True, True, False]
    window.advance(4)
    assert [window.has(number) for number in range(1, 6)] == [True, True, True, True, False]
    window.advance(2)  # an older packet
    assert window.floor == 4
    assert window.fits(3 + MAX_UNSETTLED)
    assert not window.fits(4 + MAX_UNSETTLED)


def test_a_saved_window_is_the_same():
    window = PublisherWindow(7)
    for number in (1, 300, MAX_UNSETTLED):
        window.add(number)
    again = PublisherWindow.recovered(window.saved())
    assert [number for number in range(1, MAX_UNSETTLED + 1) if again.has(number)] == [1, 300, MAX_UNSETTLED]
    assert (again.publisher, again.floor) == (7, 1)


class Windows:
    """The windows of a home, and what it writes."""

    def __init__(self, *known):
        self.context = RouterContext(Settings("a"), 1)
        self.written = []
        self.all = PublisherWindows(self.context, self, [SaveWindow(each, 1, b"\x01") for each in known])
        self.add = self.written.append

    def store(self, publisher, number=1):
        window = self.all.of(publisher)
        window.add(number)
        self.all.keep(window)
        self.all.finish_turn()

    def wait(self, seconds):
        self.context.clock.now += seconds
        self.all.expire()

    def forgotten(self):
        return [each.publisher for each in self.written if isinstance(each, DropWindow)]


def test_a_publisher_is_forgotten_so_long_after_its_last_message():
    home = Windows()
    home.store(1)
    home.store(2)
    home.wait(PUBLISHER_AGE - 1)
    assert home.all.of(1).has(1)  # sent again, and so known for longer
    home.wait(2)
    assert home.forgotten() == [2]
    home.wait(PUBLISHER_AGE - 2)
    assert home.forgotten() == [2, 1]
    assert not home.all.of(1).has(1)
    assert len(home.all) == 0


def test_a_restart_begins_the_time_again():
    home = Windows(1)
    home.wait(PUBLISHER_AGE - 1)
    assert home.forgotten() == []
    home.wait(1)
    assert home.forgotten() == [1]


def test_a_publisher_is_known_from_its_first_message_that_is_stored():
    home = Windows()
    assert not home.all.of(1).has(1)
    assert len(home.all) == 0
    home.store(1)
    assert home.all.of(1).has(1)
    assert home.written == [SaveWindow(1, 1, b"\x01")]


def test_known_publishers_are_bounded_and_none_is_forgotten_for_another(monkeypatch):
    monkeypatch.setattr(publisher_windows, "MAX_PUBLISHERS", 2)
    home = Windows(1)
    assert home.all.refusal(2) == ""
    home.store(2)
    assert home.all.refusal(3) == "too many publishers: 2 are known; each is forgotten 7,200 s after its last message"
    assert home.all.refusal(1) == home.all.refusal(2) == ""
    home.wait(PUBLISHER_AGE)
    assert home.all.refusal(3) == ""


def test_very_many_are_forgotten_in_several_turns():
    home = Windows(*range(2_500))
    home.wait(PUBLISHER_AGE)
    assert len(home.all) == 1_500
    home.wait(0)
    home.wait(0)
    assert home.forgotten() == list(range(2_500))


def test_a_home_knows_a_message_longer_than_its_publisher_sends_it():
    publisher = DurablePublisher(7)
    number = publisher.add({}, [], b"", 100.0, 1e9)
    assert publisher.frame(number, 100.0).timeout == MAX_SECONDS
    assert publisher.frame(number, 100.0 + MAX_SECONDS).timeout == 0.001
    assert PUBLISHER_AGE >= 2 * MAX_SECONDS


def late_repetition(*, restarts=False, jump=0.0):
    """Store a message whose publisher gets no answer, and sends it again over a restarted router much later."""
    net = DurableLab("a-c")
    alice, carol = net.client("a"), net.client("c")
    carol.subscribe_durable(1, "billing", "x > 0")
    net.run(2)
    net.disks["c"].delay = 0.5
    number = alice.publish_durable({"x": 1}, b"0", timeout=MAX_SECONDS)
    net.run(0.2)
    alice.disconnect()
    net.kill("a")
    net.disks["c"].delay = 0.01
    net.run(1)
    assert payloads(carol) == [b"0"]
    net.disks["c"].clock_offset = jump
    if restarts:
        net.kill("c")
        net.start("c")
    net.run(MAX_SECONDS - 100)
    net.start("a")
    alice.reconnect()
    net.run(10)
    assert alice.receipts[number].subscriptions == 1
    return payloads(carol)


@pytest.mark.parametrize("how", [{}, {"restarts": True}, {"jump": 1e6}, {"jump": -1e6}])
def test_a_message_that_is_sent_again_an_hour_later_is_stored_once(how):
    assert late_repetition(**how) == [b"0"]


def test_a_build_that_forgets_too_early_is_found(monkeypatch):
    monkeypatch.setattr(publisher_windows, "PUBLISHER_AGE", MAX_SECONDS / 2)
    assert late_repetition() == [b"0", b"0"]


def test_publishers_beyond_the_limit_are_refused_until_others_are_forgotten(monkeypatch):
    monkeypatch.setattr(publisher_windows, "MAX_PUBLISHERS", 3)
    monkeypatch.setattr(publisher_windows, "PUBLISHER_AGE", 60.0)
    net = DurableLab("a")
    carol, *publishers = (net.client("a") for _ in range(6))
    carol.subscribe_durable(1, "billing", "x > 0")
    net.run(1)

    def publish(payload):
        refusals = []
        for each in publishers:
            stored = each.publish_durable({"x": 1}, payload)
            unwanted = each.publish_durable({"x": 0}, payload)
            net.run(0.5)
            refusals.append((each.receipts[stored].refused, each.receipts[unwanted].refused))
        return refusals

    refused = ["a: too many publishers: 3 are known; each is forgotten 60 s after its last message"]
    expected = [([], [])] * 3 + [(refused, [])] * 2
    assert publish(b"0") == expected
    assert publish(b"1") == expected
    net.kill("a")
    net.start("a")
    net.run(3)
    assert publish(b"2") == expected
    net.run(60)
    publishers = publishers[2:]
    assert publish(b"3") == [([], [])] * 3
    assert [payloads(carol).count(b"%d" % n) for n in range(4)] == [3] * 4
    assert len(net.disks["a"].start(lambda _: None).state.windows) == 3
