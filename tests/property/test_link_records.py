"""Laws of link records: whatever a linked router forges, all routers end with the record of the owner."""

from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.link_networks import LinkNetwork
from support.signing_routers import signatures

from cbnet.network.linkstate.records import RecordVersion
from cbnet.network.protocol.fields import MAX_INT
from cbnet.network.protocol.frames import LinkField, LinkRecord
from cbnet.network.security.access import Access

# The owner is o; f, in the middle, forges.
LINKS = "o-a a-b b-c c-d d-f f-a b-f"

numbers = st.one_of(
    st.integers(0, 20),
    st.integers(MAX_INT - 20, MAX_INT),
    st.integers(MAX_INT // 2 - 20, MAX_INT // 2 + 20),
    st.integers(0, MAX_INT),
)
versions = st.builds(RecordVersion, numbers, numbers)
neighbours = st.dictionaries(st.sampled_from("abcdef"), st.builds(LinkField, st.just(1), st.just([7])), max_size=3)


def forged(version, links, changes=1):
    return LinkRecord("o", version.incarnation, version.sequence, changes, 0, dict(links))


@given(versions, versions)
def test_of_two_versions_exactly_one_is_newer(one, other):
    assert one.is_newer(other) + other.is_newer(one) == (one != other)


@given(versions, numbers)
def test_every_version_can_be_outbid(version, incarnation):
    assert version.next(incarnation).is_newer(version)
    assert 0 <= version.next(incarnation).sequence <= MAX_INT


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(versions, neighbours), min_size=1, max_size=5), st.integers(0, 1000))
def test_owner_wins_against_any_forged_records(forgeries, seed):
    net = LinkNetwork(LINKS, seed)
    assert net.is_agreed("o")
    for version, links in forgeries:
        net.inject("f", forged(version, links))
    net.run(3.0)
    assert net.is_agreed("o")


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(versions, neighbours), min_size=1, max_size=5), st.integers(0, 1000))
def test_owner_wins_against_records_forged_before_its_first_start(forgeries, seed):
    net = LinkNetwork("a-b b-c c-d d-f f-a b-f", seed)
    for version, links in forgeries:
        net.inject("f", forged(version, links))
    net.run(0.5)
    net.start("o")
    net.connect("o", "a")
    net.run(3.0)
    assert net.is_agreed("o")
    net.start("z")  # and a router that has no record of it accepts its present one
    net.connect("z", "d")
    net.run(1.0)
    assert net.is_agreed("o")


@settings(max_examples=20, deadline=None)
@given(versions, neighbours, st.integers(0, 1000))
def test_owner_wins_after_its_restart(version, links, seed):
    net = LinkNetwork(LINKS, seed)
    net.kill("o")
    net.run(0.5)
    net.inject("f", forged(version, links))
    net.run(0.5)
    net.start("o")
    net.connect("o", "a")
    net.run(2.0)
    assert net.is_agreed("o")


@settings(max_examples=20, deadline=None)
@given(neighbours, st.integers(0, 2), st.integers(0, 1000), st.booleans())
def test_owner_wins_against_a_guess_of_its_next_version(links, ahead, seed, is_raced):
    net = LinkNetwork(LINKS, seed)
    own = net.routers["o"].own
    guess = RecordVersion(own.version.sequence + ahead, own.version.incarnation)
    net.inject("f", forged(guess, links, own.changes))
    if is_raced:  # the owner makes a record of the same version, while the forged one spreads
        net.connect("o", "c")
    net.run(3.0)
    assert net.is_agreed("o")


@settings(max_examples=30, deadline=None)
@given(versions, neighbours, st.integers(0, 1000))
def test_forged_record_never_separates_the_owner_from_its_neighbour(version, links, seed):
    net = LinkNetwork(LINKS, seed)
    true = net.record("a", "o")[3]
    net.inject("f", forged(version, links))
    for _ in range(20):
        net.deliver(most=100_000)
        assert net.record("a", "o")[3] == true
        net.run(0.05)


@settings(max_examples=30, deadline=None)
@example(  # the versions multiplied, as fast as they were delivered
    events=[
        ("cut", 6, RecordVersion(0, 12)),
        *(("connect", number, RecordVersion(0, 0)) for number in (5, 0, 3, 3, 5)),
        ("forge", 5, RecordVersion(4_611_686_018_427_387_888, 9_223_372_036_854_775_807)),
        ("forge", 2, RecordVersion(4_611_686_018_427_387_922, 9_223_372_036_854_775_800)),
        ("restart", 0, RecordVersion(0, 0)),
        ("forge", 1, RecordVersion(9_223_372_036_854_775_789, 10)),
        ("restart", 7, RecordVersion(0, 0)),
        ("forge", 7, RecordVersion(9_223_372_036_854_775_787, 11)),
    ],
    seed=197,
)
@given(
    st.lists(
        st.tuples(st.sampled_from(["connect", "cut", "restart", "forge"]), st.integers(0, 10), versions), max_size=12
    ),
    st.integers(0, 1000),
)
def test_routers_agree_after_links_and_routers_have_come_and_gone(events, seed):
    pairs = [pair.split("-") for pair in [*LINKS.split(), "o-c", "o-d"]]
    net = LinkNetwork(LINKS, seed)
    for what, number, version in events:
        a, b = pairs[number % len(pairs)]
        if what == "connect":
            net.connect(a, b)
        elif what == "cut":
            net.cut(a, b)
        elif what == "forge":
            net.inject("f", forged(version, {}))
        else:
            net.kill(a)
            net.start(a)
        net.run(0.05 * (number % 3))
    for a, b in pairs:
        net.connect(a, b)
    net.run(6.0)
    for owner in net.routers:
        assert net.is_agreed(owner)


# --- signed records


def signed_network(links, seed):
    starts = iter(range(1_000, 1_000_000, 1_000))  # of the routers, in milliseconds
    return LinkNetwork(
        links, seed, access=lambda name: Access(signatures=signatures(name, "oabcdf", first=next(starts)))
    )  # fmt: skip


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(versions, neighbours), min_size=1, max_size=5), st.integers(0, 1000))
def test_forged_records_change_nothing_at_any_time_if_records_are_signed(forgeries, seed):
    net = signed_network(LINKS, seed)
    before = {name: net.record(name, "o") for name in net.routers}
    for version, links in forgeries:
        net.inject("f", forged(version, links))
        net.inject("f", signatures("f").sign(forged(version, links)))
        net.deliver()
        assert {name: net.record(name, "o") for name in net.routers} == before


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.integers(0, 1000))
def test_signed_records_of_earlier_incarnations_change_nothing_if_they_are_sent_again(replays, seed):
    net = signed_network(LINKS, seed)
    earlier = [net.routers["f"].database.record("o", net.now)]
    for neighbour in "ab":  # o restarts, alone, with another link
        net.kill("o")
        net.run(0.2)
        net.start("o")
        net.connect("o", neighbour)
        earlier.append(net.routers["o"].database.record("o", net.now))
        net.run(1.0)
    assert net.is_agreed("o")
    for index in replays:
        net.inject("f", earlier[index % (len(earlier) - 1)])
        net.deliver()
        assert net.is_agreed("o")
