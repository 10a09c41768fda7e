"""Memory that has become free is returned to the system, in little of the time."""

import platform
import sys

import pytest

from cbnet.network.transport.event_loop import Heap, HeapReturn, glibc_heap

MB = 1_000_000
FIXED = 40 * MB  # that cannot be returned


class Machine:
    """A process whose free memory the test sets, and a clock."""

    def __init__(self):
        self.unused, self.now = FIXED, 0.0
        self.returns = 0

    def return_free(self):
        self.returns += 1
        self.now += 0.02
        self.unused = FIXED


@pytest.fixture
def machine():
    return Machine()


@pytest.fixture
def returning(machine):
    return HeapReturn(Heap(lambda: machine.unused, machine.return_free), lambda: machine.now)


def look(machine, returning, free, seconds=60):
    machine.unused, machine.now = FIXED + free, machine.now + seconds
    return returning.look()


def test_memory_is_returned_when_much_has_become_free(machine, returning):
    assert not look(machine, returning, 8 * MB)
    assert look(machine, returning, 9 * MB)
    assert machine.returns == 1


def test_each_flood_is_returned_however_short_it_is(machine, returning):
    assert all(look(machine, returning, 50 * MB) for _ in range(3))
    assert not look(machine, returning, 0)


def test_memory_that_cannot_be_returned_is_tried_once(machine):
    returning = HeapReturn(Heap(lambda: machine.unused, lambda: None), lambda: machine.now)
    assert look(machine, returning, 100 * MB)
    assert not look(machine, returning, 100 * MB)
    assert not look(machine, returning, 108 * MB)
    assert look(machine, returning, 109 * MB)


def test_returns_take_a_hundredth_of_the_time(machine, returning):
    assert look(machine, returning, 100 * MB)
    assert not look(machine, returning, 100 * MB, 1.9)  # 0.02 s were used
    assert look(machine, returning, 100 * MB, 0.2)


def test_nothing_is_returned_to_other_systems(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    assert glibc_heap() is None
    assert not HeapReturn().look()


def test_glibc_returns_what_is_free():
    heap = glibc_heap()
    if heap is None:
        assert platform.libc_ver()[0] != "glibc"
        return
    blocks = [b"\1" * 40_000 for _ in range(1_000)]
    before = heap.unused_bytes()
    del blocks[::2]  # each is between two that stay
    assert heap.unused_bytes() - before >= 500 * 40_000 - MB
    heap.return_free()
    assert heap.unused_bytes() - before <= 500 * 8_192 + MB  # parts of pages
