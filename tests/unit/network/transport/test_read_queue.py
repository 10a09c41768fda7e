"""Reads of a journal take turns by payer."""

from cbnet.network.durable.home_log.journal import Read
from cbnet.network.transport.journals.journal_thread import ReadQueue


def test_payers_take_turns_and_the_reads_of_each_are_in_order():
    queue = ReadQueue()
    for id, payer in enumerate("aaabb", 1):
        queue.add(Read(id, [], payer))
    assert [queue.take().id for _ in range(3)] == [1, 4, 2]
    queue.add(Read(6, [], "c"))
    assert [queue.take().id for _ in range(3)] == [5, 3, 6]
    assert not queue
