"""What waits for the disk of a home is bounded, and a disk that does not answer is noticed."""

import pytest
from support.durable_networks import DurableLab, answers, payloads

from cbnet.network.durable.home_log import journal_queue
from cbnet.network.durable.home_log.journal import Append, Committed, Discard, Entry
from cbnet.network.durable.home_log.journal_queue import MAX_SILENCE, OVERHEAD, JournalQueue
from cbnet.network.link.context import RouterContext
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import DurableQuery, DurableReport


class Disk:
    """A journal that answers when the test says so."""

    def __init__(self):
        self.context = RouterContext(Settings("a"), 1)
        self.queue = JournalQueue(self.context, self)
        self.submits = 0

    def submit(self, _):
        self.submits += 1

    def add(self, operation):
        self.queue.add(operation)
        self.queue.finish_turn()

    def answer(self, submits):
        self.queue.committed(Committed(submits))

    def wait(self, seconds):
        self.context.clock.now += seconds
        self.queue.check()


def test_a_journal_that_does_not_answer_is_a_problem_until_it_does(caplog):
    disk = Disk()
    disk.wait(100)  # there is nothing to answer
    disk.add(Discard(1, 2))
    disk.wait(MAX_SILENCE)
    assert disk.queue.refusal == disk.queue.problem == ""
    disk.wait(1)
    disk.wait(1)
    assert disk.queue.refusal == disk.queue.problem == "the journal has not answered for 7 s"
    assert caplog.messages == ["journal silent"]
    disk.answer(1)
    assert disk.queue.refusal == disk.queue.problem == ""
    assert caplog.messages == ["journal silent", "journal answers again"]


def test_a_slow_journal_that_answers_is_no_problem():
    disk = Disk()
    for _ in range(10):
        disk.add(Discard(1, 2))
    for _ in range(5):
        disk.wait(MAX_SILENCE)
        assert disk.queue.problem == ""
        disk.answer(1)


def test_the_reason_of_a_journal_that_cannot_be_written_is_kept(caplog):
    disk = Disk()
    disk.add(Discard(1, 2))
    disk.queue.stalled("the disk is full")
    disk.wait(2 * MAX_SILENCE)  # it tries again, and says nothing
    assert disk.queue.problem == "the journal cannot be written: the disk is full"
    assert caplog.messages == []


@pytest.mark.parametrize("content", [b"", b"12345"])
def test_small_operations_count_with_what_they_take_themselves(monkeypatch, content):
    monkeypatch.setattr(journal_queue, "MAX_UNWRITTEN", 10 * (OVERHEAD + len(content)))
    disk = Disk()
    for offset in range(10):
        disk.add(Append([Entry(offset, 1, 0.0, "a", 1, 1, content)]) if content else Discard(1, 2))
    assert disk.queue.refusal == ""
    disk.add(Discard(1, 2))
    assert disk.queue.refusal == "the journal is too slow"
    disk.answer(1)
    assert disk.queue.refusal == ""


def stalled_home(**disk):
    """Return a network whose home has stored messages that are not on disk, and were sent again many times."""
    net = DurableLab("a-b")
    alice, bob = net.client("a"), net.client("b")
    bob.subscribe_durable(1, "billing", "x > 0")
    net.run(3)
    for name, value in disk.items():
        setattr(net.disks["b"], name, value)
    sent = [alice.publish_durable({"x": 1}, b"%d" % n, timeout=60) for n in range(3)]
    net.run(30)
    return net, alice, bob, sent


# All three messages arrive before the full disk says so.
@pytest.mark.parametrize("disk", [{"is_full": True, "delay": 0.5}, {"delay": 100.0}])
def test_repetitions_take_no_memory_while_the_disk_stalls(disk):
    net, alice, bob, sent = stalled_home(**disk)
    own = net.memory.router("b").durable.held
    assert net.memory.router("a").counters["durable_repeated"] > 50
    assert sum(len(each.calls) for each in own.queue._submitted) <= 5  # of the record, and of the three messages
    assert len(own.home._pending) == 3
    net.disks["b"].is_full, net.disks["b"].delay = False, 0.01
    net.run(100)
    assert payloads(bob) == [b"0", b"1", b"2"]
    assert own.home._pending == set()
    if "is_full" in disk:
        assert [alice.receipts[each].subscriptions for each in sent] == [1, 1, 1]


def test_a_disk_that_hangs_refuses_messages_with_the_reason():
    net, alice, bob, _ = stalled_home(delay=40.0)
    number = alice.publish_durable({"x": 1}, b"3")
    bob.send(DurableQuery(1))
    net.run(2)
    silence = "the journal has not answered for 30 s"
    assert alice.receipts[number].refused == [f"b: {silence}"]
    assert answers(bob, DurableReport)[-1].problem == silence
    net.disks["b"].delay = 0.01
    net.run(12)
    bob.send(DurableQuery(2))
    net.run(1)
    assert answers(bob, DurableReport)[-1].problem == ""
    assert payloads(bob) == [b"0", b"1", b"2"]
