"""A packet is delivered once, however its number stands to the others."""

from random import Random

from cbnet.network.forwarding import duplicates as module
from cbnet.network.forwarding.duplicates import WINDOW, Duplicates


def passes(duplicates, number, source="a", life=1, tree=0):
    return duplicates.is_new(source, life, tree, number)


def test_a_packet_passes_once():
    duplicates = Duplicates()
    numbers = (5, 3, 7, 3, 5, 7, 4)
    assert [passes(duplicates, number) for number in numbers] == [True, True, True, False, False, False, True]


def test_sources_their_lives_and_trees_are_apart():
    duplicates = Duplicates()
    assert passes(duplicates, 1, "a", 1)
    assert passes(duplicates, 1, "a", 2)
    assert passes(duplicates, 1, "b", 1)
    assert passes(duplicates, 1, "a", 1, tree=1)
    assert not passes(duplicates, 1, "a", 2)
    assert not passes(duplicates, 1, "a", 1, tree=1)


def test_packet_below_the_window_passes():
    duplicates = Duplicates()
    assert passes(duplicates, WINDOW + 10)
    assert passes(duplicates, 11)
    assert not passes(duplicates, 11)
    assert passes(duplicates, 10)
    assert passes(duplicates, 10)


def test_jump_of_numbers_forgets_all_earlier_ones():
    duplicates = Duplicates()
    assert passes(duplicates, 1)
    assert passes(duplicates, 10**15)
    assert passes(duplicates, 1)
    assert passes(duplicates, 10**15 - 1)
    assert not passes(duplicates, 10**15)


def test_against_a_set_of_all_numbers():
    random = Random(1)
    duplicates, seen, highest = Duplicates(), set(), 0
    for _ in range(20_000):
        number = max(0, highest + random.choice((1, 1, 1, 2, 50, -3, -random.randrange(2 * WINDOW))))
        highest = max(highest, number)
        is_old = number <= highest - WINDOW
        assert passes(duplicates, number) == (is_old or number not in seen)
        if not is_old:
            seen.add(number)


def test_the_source_used_least_recently_is_forgotten(monkeypatch):
    monkeypatch.setattr(module, "_MAX_SOURCES", 2)
    duplicates = Duplicates()
    assert all(passes(duplicates, 1, source) for source in "ab")
    assert not passes(duplicates, 1, "a")
    assert passes(duplicates, 1, "c")
    assert not passes(duplicates, 1, "a")
    assert passes(duplicates, 1, "b")
