import numpy as np

from cbnet.pipeline.population.counter_random import below, units, wide_units, words


def test_words_equal_the_published_test_vectors():
    # The known answers of Philox4x32-10, published with the Random123 library: counter, key -> words.
    def one(seed, stream, row, slot):
        return [int(word) for word in words(seed, stream, [row], [slot])[:, 0]]

    ones = 2**64 - 1
    assert one(0, 0, 0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert one(ones, 2**32 - 1, ones, 2**32 - 1) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    pi = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0]
    found = one(pi[5] << 32 | pi[4], pi[3], pi[1] << 32 | pi[0], pi[2])
    assert found == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


def test_words_of_a_row_do_not_depend_on_other_rows():
    rows = np.arange(40_000)  # more than are made at once
    together = words(7, 3, rows, rows % 5)
    for row in (0, 1, 16_383, 16_384, 39_999):
        assert (words(7, 3, [row], [row % 5])[:, 0] == together[:, row]).all()


def test_different_seeds_streams_rows_and_slots_give_different_words():
    found = {
        tuple(words(seed, stream, [row], [slot])[:, 0].tolist())
        for seed in (0, 1, 1 << 32)
        for stream in (0, 1)
        for row in (0, 1, 1 << 32)
        for slot in (0, 1)
    }
    assert len(found) == 36


def test_units_are_uniform():
    high, low, _, _ = words(0, 0, np.arange(100_000))
    for unit in (units(high), wide_units(high, low)):
        assert unit.min() >= 0
        assert unit.max() < 1
        counts = np.bincount(below(unit, 10), minlength=10)
        assert np.abs(counts - 10_000).max() < 500  # five standard deviations


def test_numbers_are_below_their_bounds():
    unit = units(words(0, 0, np.arange(1000))[0])
    bounds = np.arange(1000) % 7 + 1
    found = below(unit, bounds)
    assert (found >= 0).all()
    assert (found < bounds).all()
    assert below(np.array([1 - 2.0**-53]), 123_248_896).tolist() == [123_248_895]
