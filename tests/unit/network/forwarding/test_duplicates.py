"""No packet passes twice, however its number stands to the others."""

from random import Random

from cbnet.network.forwarding import duplicates as module
from cbnet.network.forwarding.duplicates import WINDOW, Duplicates


def passes(duplicates, number, source="a", life=1):
    return duplicates.check(source, life, number) is None


def test_a_packet_passes_once():
    duplicates = Duplicates()
    assert [passes(duplicates, number) for number in (5, 3, 7, 3, 5, 7, 4)] == [
        True,
        True,
        True,
        False,
        False,
        False,
        True,
    ]


def test_sources_and_their_lives_are_apart():
    duplicates = Duplicates()
    assert passes(duplicates, 1, "a", 1)
    assert passes(duplicates, 1, "a", 2)
    assert passes(duplicates, 1, "b", 1)
    assert not passes(duplicates, 1, "a", 2)


def test_packet_below_the_window_is_dropped():
    duplicates = Duplicates()
    assert passes(duplicates, WINDOW + 10)
    assert passes(duplicates, 11)
    assert duplicates.check("a", 1, 10) == "overtaken"


def test_jump_of_numbers_drops_all_earlier_ones():
    duplicates = Duplicates()
    assert passes(duplicates, 1)
    assert passes(duplicates, 10**15)
    assert not passes(duplicates, 1)
    assert passes(duplicates, 10**15 - 1)


def test_against_a_set_of_all_numbers():
    random = Random(1)
    duplicates, seen, highest = Duplicates(), set(), 0
    for _ in range(20_000):
        number = max(0, highest + random.choice((1, 1, 1, 2, 50, -3, -random.randrange(2 * WINDOW))))
        highest = max(highest, number)
        expected = number not in seen and number > highest - WINDOW
        assert passes(duplicates, number) == expected
        seen.add(number)


def test_there_is_room_for_so_many_sources_and_the_first_is_forgotten(monkeypatch):
    monkeypatch.setattr(module, "_MAX_SOURCES", 2)
    duplicates = Duplicates()
    assert all(passes(duplicates, 1, source) for source in "abc")
    assert passes(duplicates, 1, "a")
    assert not passes(duplicates, 1, "c")
