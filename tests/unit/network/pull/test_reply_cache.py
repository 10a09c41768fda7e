"""The cache of replies: what was used last, within its room and age."""

from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbnet import Message
from cbnet.network.link.context import RouterContext
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import ReplyFrame
from cbnet.network.protocol.request_codec import request_to_bytes
from cbnet.network.protocol.wire import encode
from cbnet.network.pull.reply_cache import ENTRY_BYTES, ReplyCache


def key(x):
    return request_to_bytes(Message({"x": x}))


def reply(x, payload=b"", *, age=0, keep=None):
    return ReplyFrame(
        to="a",
        hops=0,
        incarnation=1,
        number=1,
        request=key(x),
        attributes={"x": x},
        tags=[],
        payload=payload,
        holder="h",
        cache="",
        age=age,
        keep=keep,
        asked=1,
    )


def size_of(said):
    """Return the room that a reply takes: its bytes, without their length, its request, and a little more."""
    return len(encode(said)) - 4 + len(said.request) + ENTRY_BYTES


class Cache:
    """A cache with a clock that the test moves."""

    def __init__(self, **settings):
        self.local = RouterContext(Settings("a", **settings), 1)
        self.local.clock.advance(0.0)
        self.now = 0.0
        self.cache = ReplyCache(self.local)

    def wait(self, seconds):
        self.now += seconds
        self.local.clock.advance(self.now)

    def put(self, *said, **more):
        self.cache.put(reply(*said, **more))

    def get(self, x):
        found = self.cache.get(key(x))
        return None if found is None else (found.payload, found.age)

    @property
    def counts(self):
        return tuple(self.local.counters[f"cache_{what}"] for what in ("hits", "misses", "evictions", "expired"))


def test_a_reply_is_kept_with_its_age():
    cache = Cache(cache_age=10)
    cache.put(1, b"one")
    cache.wait(4)
    assert cache.get(1) == (b"one", 4_000)
    assert cache.get(2) is None
    assert cache.counts == (1, 1, 0, 0)


def test_a_router_that_stood_still_gives_nothing_that_became_too_old_meanwhile():
    cache = Cache(cache_age=10)
    cache.put(1)
    cache.wait(3_600)
    assert cache.local.now < 10  # for links and records that was one long step
    assert cache.get(1) is None


def test_the_age_of_another_cache_counts():
    cache = Cache(cache_age=10)
    cache.put(1, age=7_000)
    cache.wait(2)
    assert cache.get(1) == (b"", 9_000)
    cache.wait(1)
    assert cache.get(1) is None
    assert cache.counts == (1, 1, 0, 1)


@pytest.mark.parametrize(
    ("keep", "seconds", "is_there"), [(None, 9.5, True), (None, 10, False), (3_000, 2.5, True), (3_000, 3, False),
                                      (99_000, 10, False), (0, 0, False)]
)  # fmt: skip
def test_a_reply_may_be_kept_as_long_as_both_allow(keep, seconds, is_there):
    cache = Cache(cache_age=10)
    cache.put(1, keep=keep)
    cache.wait(seconds)
    assert (cache.get(1) is not None) is is_there


@pytest.mark.parametrize("settings", [{"cache_bytes": 0}, {"cache_age": 0}])
def test_a_cache_that_is_off_keeps_nothing(settings):
    cache = Cache(**settings)
    cache.put(1)
    assert cache.get(1) is None
    assert (len(cache.cache), cache.cache.size) == (0, 0)


def test_what_was_used_longest_ago_goes_first():
    size = size_of(reply(1, b"p" * 100))
    cache = Cache(cache_bytes=3 * size)
    for x in (1, 2, 3):
        cache.put(x, b"p" * 100)
    assert cache.cache.size == 3 * size
    assert cache.get(1)
    cache.put(4, b"p" * 100)
    assert [cache.get(x) is not None for x in (1, 2, 3, 4)] == [True, False, True, True]
    assert cache.counts[2] == 1


def test_what_is_too_large_for_all_of_it_is_not_kept_and_pushes_nothing_out():
    cache = Cache(cache_bytes=1_000)
    cache.put(1)
    cache.put(2, b"p" * 1_000)
    assert (cache.get(1), cache.get(2)) == ((b"", 0), None)


def test_the_newer_of_two_replies_stays_whichever_comes_last():
    cache = Cache(cache_age=60)
    cache.put(1, b"new", age=1_000)
    cache.put(1, b"old", age=5_000)
    assert cache.get(1) == (b"new", 1_000)
    cache.put(1, b"newer", age=500)
    assert cache.get(1) == (b"newer", 500)
    cache.put(1, b"secret", keep=0)  # newer, and must not be kept: what was there is out of date
    assert cache.get(1) is None


@given(
    st.integers(500, 2_500),
    st.lists(
        st.tuples(
            st.sampled_from(["put", "get", "wait"]),
            st.integers(0, 5),
            st.integers(0, 120),
            st.sampled_from([None, 0, 2_000]),
        ),
        max_size=40,
    ),
)
def test_the_cache_does_as_a_plain_one(room, script):
    cache, plain, now = Cache(cache_bytes=room, cache_age=5), OrderedDict(), 0.0
    for what, x, size, keep in script:
        if what == "wait":
            cache.wait(1)
            now += 1
        elif what == "put":
            said = reply(x, b"p" * size, keep=keep)
            cache.cache.put(said)
            plain.pop(x, None)
            until = now + min(5, 5 if keep is None else keep / 1000)
            if size_of(said) <= room and until > now:
                plain[x] = (until, size_of(said), size)
                while sum(each[1] for each in plain.values()) > room:
                    plain.popitem(last=False)
        else:
            if x in plain and plain[x][0] <= now:
                del plain[x]
            if x in plain:
                plain.move_to_end(x)
            found = cache.get(x)
            assert (None if found is None else len(found[0])) == (plain[x][2] if x in plain else None)
        assert cache.cache.size == sum(each[1] for each in plain.values())
        assert cache.cache.size <= room
