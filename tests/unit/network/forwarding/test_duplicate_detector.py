"""A packet is delivered once, however its number stands to the others."""

from random import Random

import pytest
from support.duplicates_reference import Duplicates

from cbnet._kernels.duplicate_detector import WINDOW, DuplicateDetector


def passes(detector, number, source="a", incarnation=1, tree=0):
    return detector.is_new(source, incarnation, tree, number)


def test_a_packet_passes_once():
    detector = DuplicateDetector()
    numbers = (5, 3, 7, 3, 5, 7, 4)
    assert [passes(detector, number) for number in numbers] == [True, True, True, False, False, False, True]


def test_sources_their_incarnations_and_trees_are_apart():
    detector = DuplicateDetector()
    assert passes(detector, 1, "a", 1)
    assert passes(detector, 1, "a", 2)
    assert passes(detector, 1, "b", 1)
    assert passes(detector, 1, "a", 1, tree=1)
    assert not passes(detector, 1, "a", 2)
    assert not passes(detector, 1, "a", 1, tree=1)


def test_packet_below_the_window_passes():
    detector = DuplicateDetector()
    assert passes(detector, WINDOW + 10)
    assert passes(detector, 11)
    assert not passes(detector, 11)
    assert passes(detector, 10)
    assert passes(detector, 10)


def test_jump_of_numbers_forgets_all_earlier_ones():
    detector = DuplicateDetector()
    assert passes(detector, 1)
    assert passes(detector, 10**15)
    assert passes(detector, 1)
    assert passes(detector, 10**15 - 1)
    assert not passes(detector, 10**15)


def test_against_a_set_of_all_numbers():
    random = Random(1)
    detector, seen, highest = DuplicateDetector(), set(), 0
    for _ in range(20_000):
        number = max(0, highest + random.choice((1, 1, 1, 2, 50, -3, -random.randrange(2 * WINDOW))))
        highest = max(highest, number)
        is_old = number <= highest - WINDOW
        assert passes(detector, number) == (is_old or number not in seen)
        if not is_old:
            seen.add(number)


def test_the_source_used_least_recently_is_forgotten():
    detector = DuplicateDetector(2)
    assert all(passes(detector, 1, source) for source in "ab")
    assert not passes(detector, 1, "a")
    assert passes(detector, 1, "c")
    assert not passes(detector, 1, "a")
    assert passes(detector, 1, "b")
    assert len(detector) == 2


def test_highest_number():
    detector = DuplicateDetector()
    assert passes(detector, 2**63 - 1)
    assert passes(detector, 0)
    assert passes(detector, 2**63 - WINDOW)
    assert not passes(detector, 2**63 - WINDOW)
    assert not passes(detector, 2**63 - 1)


@pytest.mark.parametrize("max_sources", [1, 3, 50, 1000])
def test_like_the_reference(max_sources):
    random = Random(max_sources)
    detector, reference = DuplicateDetector(max_sources), Duplicates(max_sources)
    sources = [f"router-{n}" + "é" * (n % 60) for n in range(60)]
    for step in range(30_000):
        number = max(0, step // 4 + random.choice((0, 0, 1, 1, -1, 63, 64, 65, 500, 9000, -WINDOW, 1 - WINDOW)))
        packet = random.choice(sources), random.choice((1, 2, 2**63 - 1)), random.choice((0, 63)), number
        assert detector.is_new(*packet) == reference.is_new(*packet)
