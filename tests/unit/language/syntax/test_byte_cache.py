"""A cache of results by bytes: each is computed once, and those of the last bytes are kept."""

import pytest

from cbnet.language.syntax.byte_cache import _OVERHEAD, ByteCache


def cached(most):
    """Return a cached function, and the arguments for which its results were computed."""
    computed = []
    return ByteCache(lambda argument: computed.append(argument) or argument[::-1], most), computed


def test_a_result_is_computed_once():
    reverse, computed = cached(10_000)
    assert [reverse(each) for each in (b"ab", b"cd", b"ab")] == [b"ba", b"dc", b"ba"]
    assert computed == [b"ab", b"cd"]


def test_the_oldest_results_make_room_for_those_of_as_many_bytes():
    size = 100 + _OVERHEAD
    reverse, computed = cached(3 * size)
    small, large, huge = [bytes([n]) * 100 for n in range(3)], bytes(100 + size), bytes(4 * size)
    for argument in (*small, large):
        reverse(argument)
    computed.clear()
    for argument in (large, *reversed(small)):
        reverse(argument)
    assert computed == [small[1], small[0]]  # the large one, which counts as two, took the room of these
    reverse(huge)
    computed.clear()
    for argument in (small[0], huge):
        reverse(argument)
    assert computed == [small[0], huge]  # which is not kept, and for which all others went


def test_an_error_is_not_kept():
    cache = ByteCache(lambda argument: 1 // len(argument), 1_000)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            cache(b"")
    assert cache(b"a") == 1
