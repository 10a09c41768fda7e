"""What routers announce to their neighbours, and what they accept."""

import pytest
from support.memory_networks import Alone, Lab, encoded, sent, shut

from cbnet.network.announce import stream_receiver
from cbnet.network.protocol.frames import Announce, LinkField, StreamChange, Subscribe, Subscribed, Unsubscribe


def announced(actions, link):
    """Return what is announced over a link: by change, number, sequence, added and removed subscriptions."""
    return [
        (change.number, change.sequence, {frame.filters[i] for i in change.added}, {frame.filters[i] for i in change.removed})
        for frame in sent(actions, Announce, link)
        for change in frame.changes
    ]  # fmt: skip


def contents(lab, name, neighbour):
    """Return the filters that a router has of a neighbour's side, on the first tree."""
    router = lab.router(name)
    stream = router.streams.from_side(router.version.trees[0].links[neighbour])
    return set(router.streams.kinds[0].filters(stream))


def between(**settings):
    """Return a router a with the leaves b and c, and a client at 9."""
    alone = Alone("a", **settings)
    alone.leaf(1, "b")
    alone.leaf(2, "c")
    alone.client_link(9)
    return alone


# --- opening


def test_leaves_open_first_and_a_router_between_waits_for_them():
    alone = Alone("a")
    assert announced(alone.leaf(1, "b"), 1) == [(1, 1, set(), set())]  # a is a leaf, too
    assert announced(alone.leaf(2, "c"), 1) == []  # what c wants has not come
    assert announced(alone.wait(0.2), 2) == []
    assert announced(alone.announce(2, ["x = 1"]), 1) == [(2, 1, set(encoded("x = 1")), set())]
    assert announced(alone.announce(1, ["y = 1"]), 2) == [(3, 1, set(encoded("y = 1")), set())]


def test_announcement_is_not_sent_back():
    alone = between()
    alone.announce(1, ["x = 1"])
    done = alone.announce(2, ["y = 1"])
    assert announced(done, 2) == []
    assert {filter for frame in sent(done, Announce, 1) for filter in frame.filters} == set(encoded("y = 1"))


def test_trees_with_the_same_sides_share_their_streams():
    alone = Alone("a", trees=3)
    alone.leaf(1, "b")
    assert len(announced(alone.leaf(2, "c") + alone.announce(2, ["x = 1"]), 1)) == 1


def test_new_session_opens_its_streams_anew():
    lab = Lab("a-b")
    lab.clients["a"].subscribe(1, "x = 1")
    lab.run(1)
    before = lab.memory.frames["Announce"]
    lab.memory.cut("a", "b")
    lab.run(1)
    lab.memory.repair("a", "b")
    lab.run(3)
    assert contents(lab, "b", "a") == set(encoded("x = 1"))
    assert lab.memory.frames["Announce"] >= before + 2


@pytest.mark.parametrize("seconds", [10, 70, 130, 190])
def test_content_from_before_a_session_is_used_only_while_the_receiver_has_it(seconds):
    lab = Lab("a-b a-c")
    for name in "ac":
        lab.clients[name].subscribe(1, " or ".join(f"{name} = {number}" for number in range(20)))
    lab.run(3)
    lab.memory.cut("a", "b")  # b keeps what a wants and what c wants
    lab.run(1)
    lab.memory.repair("a", "b")
    lab.run(seconds)
    lab.memory.cut("a", "c")  # now the side of a wants less than b has kept, and then the same again
    lab.run(10)
    lab.memory.repair("a", "c")
    lab.run(5)
    assert len(contents(lab, "b", "a")) == 40
    assert [lab.router(name).counters["links_failed"] for name in "abc"] == [0, 0, 0]


def test_stream_starts_from_the_most_similar_one_of_its_session():
    alone = between()
    many = [f"x = {number}" for number in range(20)]
    alone.announce(1, ["z = 1"])
    done = alone.announce(2, many)
    ((number, _, added, _),) = announced(done, 1)
    assert added == set(encoded(*many))
    # c has a new neighbour d: its side is another one, which announces one filter more
    alone.say(2, alone.record(2, "c", sequence=2, d=LinkField(1, [77])))
    from_d = alone.record(2, "d", sequence=1)
    alone.say(2, type(from_d)("d", 1, 1, 1, 0, {"c": LinkField(1, [77])}))
    alone.wait(0.2)
    done = alone.announce(2, ["y = 1"], number=2, base=1)
    (frame,) = sent(done, Announce, 1)
    (change,) = frame.changes
    assert (change.base, frame.filters, change.added, change.removed) == (number, encoded("y = 1"), [0], [])


# --- changes


def test_covered_filter_changes_nothing():
    alone = Alone("a")
    alone.leaf(1, "b")
    alone.client_link(9)
    assert announced(alone.say(9, Subscribe(1, "x > 1", 0)), 1) == [(1, 2, set(encoded("x > 1")), set())]
    assert announced(alone.say(9, Subscribe(2, "x > 5", 0)), 1) == []
    assert announced(alone.say(9, Subscribe(3, "x > 1 and y = 1", 0)), 1) == []
    assert announced(alone.say(9, Unsubscribe(2)), 1) == []


def test_removal_announces_what_was_covered_in_the_same_change():
    alone = Alone("a")
    alone.leaf(1, "b")
    alone.client_link(9)
    alone.say(9, Subscribe(1, "x > 1", 0), Subscribe(2, "x > 5", 0), Subscribe(3, "x > 7", 0))
    assert announced(alone.say(9, Unsubscribe(1)), 1) == [(1, 3, set(encoded("x > 5")), set(encoded("x > 1")))]


def test_wider_filter_replaces_those_that_it_covers():
    alone = Alone("a")
    alone.leaf(1, "b")
    alone.client_link(9)
    alone.say(9, Subscribe(1, "x > 5", 0), Subscribe(2, "y = 1", 0))
    assert announced(alone.say(9, Subscribe(3, "x > 1", 0)), 1) == [
        (1, 4, set(encoded("x > 1")), set(encoded("x > 5")))
    ]


def test_filter_is_covered_by_that_of_another_neighbour():
    alone = between()
    alone.announce(1, ["x > 1"])
    alone.announce(2, ["y = 1"])
    done = alone.say(9, Subscribe(1, "x > 5", 0))
    assert announced(done, 2) == []  # b wants more
    assert {frozenset(each[2]) for each in announced(done, 1)} == {frozenset(encoded("x > 5"))}


def test_changes_of_one_turn_go_in_one_frame():
    alone = Alone("a")
    alone.leaf(1, "b")
    alone.client_link(9)
    told = [Subscribe(number, f"x = {number}", 0) for number in range(50)]
    (frame,) = sent(alone.router.received_all(9, told, alone.now), Announce, 1)
    assert (len(frame.filters), len(frame.changes)) == (50, 1)


# --- what a neighbour may not do


def change(**changes):
    said = {"number": 1, "sequence": 2, "side": b"", "base": 0, "added": [], "removed": [], "is_last": True}
    return Announce([], [], [StreamChange(**{**said, **changes})], [])


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (change(sequence=1), "change 1 of a stream follows 1"),
        (change(sequence=3), "change 3 of a stream follows 1"),
        (change(added=[0]), "a change names a filter that is not in its frame"),
        (change(removed=[7]), "a change names a filter that is not in its frame"),
        (change(number=5), "a change of a stream that is not open"),
        (change(number=5, sequence=1), "a change of a stream that is not open"),  # without its side
        (change(number=5, sequence=1, side=b"k" * 16, base=99), "a change of a stream that is not open"),
        (change(number=5, sequence=1, side=b"k" * 16, base=b"d" * 16), "a change of a stream that is not open"),
        (Announce([], [], [], [9]), "the end of a stream that is not open"),
        (Announce([b"\xc1"], [], change(added=[0]).changes, []), "invalid filter"),
    ],
)
def test_wrong_announcement_closes_its_link_with_the_reason(frame, reason):
    alone = between()
    alone.announce(1, ["x = 1"])
    closed = shut(alone.say(1, frame))
    assert list(closed) == [1]
    assert reason in closed[1]


def test_second_stream_for_a_side_closes_the_link():
    alone = between()
    alone.announce(1, ["x = 1"])
    assert shut(alone.announce(1, ["x = 1"], number=2)) == {1: "a second stream for the same side"}


def test_streams_of_a_session_are_limited(monkeypatch):
    monkeypatch.setattr(stream_receiver, "_MAX_SESSION_STREAMS", 2)
    alone = between()
    alone.announce(1, ["x = 1"])
    assert shut(alone.say(1, change(number=2, sequence=1, side=b"k" * 16))) == {}
    assert shut(alone.say(1, change(number=3, sequence=1, side=b"l" * 16))) == {1: "more than 2 streams"}


def test_change_in_parts_counts_when_it_is_whole():
    alone = between()
    alone.announce(1, ["x = 1"])
    alone.announce(2, ["z = 1"])
    assert announced(alone.announce(1, ["y = 1"], sequence=2, is_last=False), 2) == []
    assert [each[2] for each in announced(alone.announce(1, ["y = 2"], sequence=2), 2)] == [
        set(encoded("y = 1", "y = 2"))
    ]


def test_each_part_of_an_opening_is_stored_when_it_arrives_and_counts_when_all_have():
    alone = between()
    alone.announce(2, ["z = 1"])
    aggregation = alone.router.fib.aggregation
    assert announced(alone.announce(1, ["x = 1", "x = 2"], is_last=False), 2) == []
    assert len(aggregation) == 3
    assert announced(alone.announce(1, ["x = 3"], side=b"", is_last=False), 2) == []
    assert len(aggregation) == 4
    assert not alone.router.is_complete
    opened = announced(alone.announce(1, ["x = 4"], side=b""), 2)
    assert [each[2] for each in opened] == [set(encoded("x = 1", "x = 2", "x = 3", "x = 4"))]
    assert alone.router.is_complete


# --- ends


def test_streams_that_only_an_earlier_version_needs_are_ended_after_a_while():
    lab = Lab("a-b b-c c-a")
    for name in "abc":
        lab.clients[name].subscribe(1, f"x = {ord(name)}")
    lab.run(1)
    lab.memory.cut("a", "b")
    lab.run(10)
    for name in "abc":
        router = lab.router(name)
        links = len(router.version.trees[0].links)
        assert router.is_settled
        assert (len(router.streams.incoming), len(router.streams.outgoing)) == (links, links)
    assert contents(lab, "a", "c") == set(encoded(f"x = {ord('b')}", f"x = {ord('c')}"))


def test_streams_of_a_closed_session_that_is_not_in_use_are_forgotten():
    alone = Alone("a")
    alone.leaf(1, "b", wants=["x = 1"])
    alone.wait(3)  # the first version is forgotten
    alone.router_link(3, "b", peer_link=2)  # no record lists this session: the first one stays in use
    alone.say(3, Announce(encoded("y = 1"), [], [StreamChange(1, 1, b"side", 0, [0], [], True)], []))
    assert len(alone.router.fib.aggregation) == 2
    alone.close(3)
    assert len(alone.router.versions.kept) == 1
    assert len(alone.router.fib.aggregation) == 1


def test_subscription_confirmed_after_a_link_came_back_is_known_beyond_it():
    """Side keys have the sessions of links far away: else c's interface would keep the stream fed by the old one."""
    lab = Lab("a-b b-c")
    lab.memory.cut("a", "b")
    lab.run(0.3)
    lab.memory.repair("a", "b")
    while "c" not in lab.router("a").version.names:
        lab.run(0.01)
    lab.clients["a"].subscribe(1, "x = 1", wait=5)
    while not lab.answers("a", Subscribed):
        lab.run(0.01)
    assert lab.answers("a", Subscribed) == [Subscribed(1, True, 3, [])]
    assert contents(lab, "c", "b") == set(encoded("x = 1"))
