"""Memory that has become free is returned to the system, in little of the time."""

import sys

import pytest

from cbnet.network.transport.heap_return import Heap, HeapReturn, glibc_heap

MB = 1_000_000


class Machine:
    """A heap whose free bytes the test sets, and a clock."""

    def __init__(self, seconds=0.0):
        self.free = self.now = 0.0
        self.seconds = seconds  # that a return takes
        self.returns = 0

    def return_free(self):
        self.returns += 1
        self.now += self.seconds


@pytest.fixture
def machine():
    return Machine(0.02)


@pytest.fixture
def returning(machine):
    return HeapReturn(Heap(lambda: machine.free, machine.return_free), lambda: machine.now)


def look(machine, returning, free, seconds=60):
    machine.free, machine.now = free, machine.now + seconds
    return returning.look()


def test_memory_is_returned_when_much_has_become_free(machine, returning):
    assert not look(machine, returning, 10 * MB)
    assert look(machine, returning, 17 * MB)
    assert machine.returns == 1


def test_free_memory_is_returned_once(machine, returning):
    assert look(machine, returning, 100 * MB)
    assert not look(machine, returning, 100 * MB)
    assert not look(machine, returning, 110 * MB)
    assert look(machine, returning, 117 * MB)


def test_memory_that_was_used_again_is_returned_again(machine, returning):
    assert look(machine, returning, 100 * MB)
    assert not look(machine, returning, 20 * MB)
    assert look(machine, returning, 100 * MB)


def test_returns_take_a_thousandth_of_the_time(machine, returning):
    assert look(machine, returning, 100 * MB)
    assert not look(machine, returning, 200 * MB, 19)  # 0.02 s were used
    assert look(machine, returning, 200 * MB, 2)


def test_nothing_is_returned_to_other_systems(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    assert glibc_heap() is None
    assert not HeapReturn().look()


def test_glibc_counts_its_free_memory():
    heap = glibc_heap()
    blocks = [bytes(40_000) for _ in range(200)]
    before = heap.free_bytes()
    del blocks[::2]  # each is between two that stay
    assert heap.free_bytes() - before >= 100 * 40_000
    heap.return_free()
