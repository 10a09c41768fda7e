"""Losses of durable subscriptions: reported before what follows, also after a restart, until a client acknowledges."""

from support.durable_networks import DurableLab, answers, billing_lab, history_lab, numbers, publish, report

from cbnet.network.durable.home_log import log as log_module
from cbnet.network.durable.home_log.journal import (
    Committed,
    Discard,
    Loss,
    RecoveredState,
    SaveCursor,
    SavedSubscription,
    SaveLosses,
    Stretch,
)
from cbnet.network.durable.home_log.journal_queue import JournalQueue
from cbnet.network.durable.home_log.log import Log
from cbnet.network.durable.home_log.losses import Losses
from cbnet.network.durable.subscriptions.dead_letters import DeadLetters
from cbnet.network.durable.subscriptions.durable_subscription import DurableSubscription
from cbnet.network.link.context import RouterContext
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import DurableLimits, DurableLost, HistoryStart


class Watched:
    """What a client receives, in order: payloads of messages, and numbers of lost ones, or the cause."""

    def __init__(self, client):
        self.received = []
        client.on_answer = self.answered
        client.acknowledges = self.stored

    def answered(self, frame):
        if isinstance(frame, DurableLost):
            self.received.append(frame.messages or frame.cause)

    def stored(self, message):
        self.received.append(message.payload)
        return True


def lab():
    net = DurableLab("a")
    return net, net.client("a"), net.client("a")


def restart(net):
    net.kill("a")
    net.run(0.5)
    net.start("a")
    net.run(2)


def lost(net, client):
    return [each.lost for each in report(net, client).subscriptions]


OLDEST = DurableLimits(messages=3, policy="drop oldest")


def test_losses_are_reported_after_a_restart_before_the_messages():
    net, alice, bob = billing_lab(limits=OLDEST)
    bob.disconnect()
    publish(net, alice, numbers(8))
    restart(net)
    watched = Watched(bob)
    bob.reconnect()
    net.run(2)
    assert watched.received == [5, b"5", b"6", b"7"]


def test_losses_that_a_client_knows_are_not_reported_again():
    net, alice, bob = billing_lab(limits=OLDEST)
    bob.disconnect()
    publish(net, alice, numbers(8))
    bob.reconnect()
    net.run(2)
    bob.disconnect()
    restart(net)
    watched = Watched(bob)
    bob.reconnect()
    net.run(2)
    assert watched.received == []
    assert lost(net, alice) == [5]  # in all


def test_a_report_that_did_not_arrive_comes_again():
    net, alice, bob = billing_lab(limits=OLDEST)
    bob.is_frozen = True
    publish(net, alice, numbers(8))
    net.run(1)
    bob.disconnect()
    bob.is_frozen = False
    watched = Watched(bob)
    bob.reconnect()
    net.run(2)
    assert watched.received == [5, b"5", b"6", b"7"]


def test_a_loss_is_reported_before_the_message_that_follows_it():
    net, alice, bob = lab()
    watched = Watched(bob)
    bob.acknowledges = lambda message: watched.stored(message) and message.payload != b"0"
    bob.subscribe_durable(1, "billing", "x > 0", limits=DurableLimits(messages=1), ack_wait=100)
    net.run(1)
    publish(net, alice, [b"0"])
    for payload in numbers(3)[1:]:
        alice.publish({"x": 1}, payload)  # the subscription is full
    net.run(0.02)
    bob.acknowledge(1, 1)
    net.run(0.02)
    alice.publish({"x": 1}, b"3")
    net.run(2)
    assert watched.received == [b"0", 2, b"3"]


def test_messages_that_were_too_old_before_a_restart_are_reported_after_it():
    net, alice, bob = billing_lab(limits=DurableLimits(age=5.0))
    bob.disconnect()
    publish(net, alice, numbers(4))
    net.run(10)
    restart(net)
    watched = Watched(bob)
    bob.reconnect()
    net.run(2)
    assert watched.received == [4]


def test_what_a_full_disk_refused_is_saved_when_there_is_room_again():
    net, alice, bob = billing_lab()
    bob.disconnect()
    net.disks["a"].is_full = True
    publish(net, alice, [b"0"])  # on its way when the disk is found full
    net.run(2)
    before = len(net.disks["a"]._queue)
    for n in range(1, 6):
        publish(net, alice, [b"%d" % n])
    assert len(net.disks["a"]._queue) == before  # nothing collects for the disk
    net.disks["a"].is_full = False
    net.run(3)
    restart(net)
    watched = Watched(bob)
    bob.reconnect()
    net.run(2)
    assert watched.received == [5, b"0"]


def test_what_the_history_dropped_before_it_was_copied_is_reported_after_a_restart():
    net, alice, bob = history_lab(history_messages=20)
    publish(net, alice, numbers(20))
    bob.acknowledges = lambda _: False
    bob.subscribe_durable(1, "billing", "x > 0", start=HistoryStart(), limits=DurableLimits(messages=5))
    net.run(1)
    bob.disconnect()
    publish(net, alice, [b"%d" % n for n in range(20, 35)])
    net.run(2)  # 10 of the history are dropped that were not copied, as the subscription is full
    restart(net)
    watched = Watched(bob)
    bob.reconnect()
    net.run(10)
    messages = [each for each in watched.received if isinstance(each, bytes)]
    assert watched.received[0] == 10
    assert sum(each for each in watched.received if isinstance(each, int)) == 11  # the note of the restart takes one
    assert messages == [*numbers(5), *(b"%d" % n for n in range(16, 35))]


def test_causes_of_losses_of_unknown_size_wait_for_a_client():
    net, alice, bob = history_lab()
    publish(net, alice, [b"0"])
    restart(net)  # leaves a note in the history
    net.disks["a"].delay = 0.5
    bob.subscribe_durable(1, "billing", "x > 0", start=HistoryStart())
    net.run(0.4)
    bob.disconnect()  # before the history is copied
    net.run(3)
    net.disks["a"].delay = 0.005
    restart(net)
    watched = Watched(bob)
    bob.reconnect()
    net.run(3)
    assert watched.received == ["a was restarted: messages that were published meanwhile may be missing", b"0"]


def test_messages_that_cannot_be_read_are_reported_and_the_others_delivered(monkeypatch):
    monkeypatch.setattr(log_module, "_TAIL_BYTES", 0)  # messages are read from the disk
    net, alice, bob = billing_lab(window=4)
    bob.disconnect()
    publish(net, alice, numbers(10))
    for offset in (1, 6, 7, 10):
        net.disks["a"].damage(1, offset)
    watched = Watched(bob)
    bob.reconnect()
    net.run(3)
    assert watched.received == [1, *numbers(5)[1:], 2, b"7", b"8", 1]
    assert answers(bob, DurableLost)[1].cause == "2 messages of durable subscription billing were damaged"
    publish(net, alice, [b"10"])
    assert watched.received[-1] == b"10"
    assert lost(net, alice) == [4]
    restart(net)
    assert lost(net, alice) == [4]


# --- alone


class Records:
    """A journal that records what is submitted."""

    def __init__(self):
        self.operations = []

    def submit(self, operations):
        self.operations += operations

    def time(self):
        return 0.0


def new_losses():
    records = Records()
    queue = JournalQueue(RouterContext(Settings("a"), 1), records)
    return Losses(queue, SaveLosses(7)), queue, records


def test_the_losses_of_a_turn_are_one_operation():
    losses, queue, records = new_losses()
    for _ in range(1_000):
        losses.refuse()
    losses.add(3)
    losses.add(0, "a note")
    queue.finish_turn()
    assert records.operations == [SaveLosses(7, 1_003, (Loss(1, 1_003, ""), Loss(2, 0, "a note")))]
    queue.finish_turn()
    assert len(records.operations) == 1


def test_messages_and_their_loss_are_one_transaction():
    losses, queue, records = new_losses()
    saved = SavedSubscription(7, "", "s", "x > 0", OLDEST)
    log = Log(queue, RecoveredState(1))
    log.open(7, 1)
    dead_letters = DeadLetters(RouterContext(Settings("a"), 1), queue, {})
    subscription = DurableSubscription(saved, losses, log, lambda *_: None, dead_letters)
    for number in range(1, 6):
        subscription.append(log.append([7], "a", 1, number, b""))
    log.free()
    queue.finish_turn()
    expected = [Discard(1, 3), SaveCursor(7, (Stretch(3, 3, 0),)), SaveLosses(7, 2, (Loss(1, 2, ""),))]
    removed = (Discard, SaveCursor, SaveLosses)
    assert [each for each in records.operations[1:] if isinstance(each, removed)] == expected  # without `open`


def test_what_was_reported_does_not_change_any_more():
    losses, *_ = new_losses()
    losses.add(3)
    assert losses.after(0) == [Loss(1, 3, "")]
    losses.add(2)
    assert losses.after(1) == [Loss(2, 2, "")]
    losses.acknowledge(1)
    assert losses.after(0) == [Loss(2, 2, "")]
    assert losses.lost == 5


def test_many_losses_become_one_without_losing_count():
    losses, *_ = new_losses()
    for n in range(100):
        losses.add(1, f"cause {n}")
    pending = losses.after(0)
    assert len(pending) == 16
    assert sum(each.messages for each in pending) == 100
    assert pending[-1] == Loss(100, 1, "cause 99")
    assert pending[0].cause.startswith("cause 0; cause 1; cause 2; ")


def test_a_journal_that_stalls_gets_only_what_explains_its_operations():
    losses, queue, records = new_losses()
    queue.stalled("the disk is full")
    losses.refuse()
    queue.finish_turn()
    assert records.operations == []
    losses.add(4)
    queue.finish_turn()
    assert records.operations == [SaveLosses(7, 5, (Loss(1, 5, ""),))]
    losses.refuse()
    queue.finish_turn()
    queue.committed(Committed(1))
    losses.check()
    queue.finish_turn()
    assert records.operations[1:] == [SaveLosses(7, 6, (Loss(1, 6, ""),))]
