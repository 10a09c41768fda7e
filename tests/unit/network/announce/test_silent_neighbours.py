"""Neighbours that answer pings but do not announce."""

from support.memory_networks import Alone, Lab, encoded, sent, shut

from cbnet.network.protocol.frames import Announce, AnnounceAck, Pong, StreamChange, StreamWaiting, Subscribed

REASON = "b has not announced what its side wants for 20 s, though it answers pings; restart it"


def wait(new, seconds, *said):
    """Let time pass while b sends frames each second."""
    done = []
    for _ in range(seconds):
        done += new.wait(1.0) + new.say(1, Pong(1), *said)
    return done


def deaf(lab, name):
    """Restart a router that never opens a stream."""
    lab.memory.kill(name)
    lab.memory.start(name).announcements.announcer._open_streams = lambda: None


def test_link_to_a_neighbour_that_never_announces_is_closed():
    new = Alone()
    new.leaf(1, "b")
    assert shut(wait(new, 18)) == {}
    assert new.router.silent_neighbours.keys() == {"b"}
    assert 17 <= new.router.silent_neighbours["b"] < 20
    assert shut(wait(new, 3)) == {1: REASON}
    assert new.router.counters["links_silent"] == 1
    assert new.router.silent_neighbours == {}


def test_link_with_a_change_whose_last_part_never_comes_is_closed():
    new = Alone()
    new.leaf(1, "b", wants=["x > 1"])
    part = StreamChange(number=1, sequence=2, side=b"", base=0, added=[0], removed=[], is_last=False)
    new.say(1, Announce(encoded("x > 0"), [], [part], []))
    assert new.router.is_complete
    assert shut(wait(new, 21)) == {1: REASON}


def test_neighbour_that_waits_for_others_or_is_sending_is_not_blamed():
    new = Alone()
    new.leaf(1, "b")
    assert shut(wait(new, 60, AnnounceAck([], [StreamWaiting(0, ["c→b"])]))) == {}
    part = StreamChange(
        number=1, sequence=1, side=new.tree_link(1).far_key, base=0, added=[0], removed=[], is_last=False
    )
    assert shut(wait(new, 60, Announce(encoded("x > 0"), [], [part], []))) == {}
    assert shut(wait(new, 21)) == {1: REASON}


def test_router_reports_the_link_that_it_waits_for():
    new = Alone()
    new.leaf(1, "b", wants=["x > 1"])
    new.leaf(2, "c", peer_link=2)
    done = [each for _ in range(8) for each in new.wait(1.0) + new.say(1, Pong(1)) + new.say(2, Pong(1))]
    reports = [each for frame in sent(done, AnnounceAck, link=1) for each in frame.waiting]
    assert [each for each in reports if each.number == 0] == [StreamWaiting(0, ["c→a"])]
    assert not [each for frame in sent(done, AnnounceAck, link=2) for each in frame.waiting]  # c has a's stream


def test_same_incarnation_is_refused_for_a_while_if_it_is_silent_again():
    new = Alone()
    for link in (1, 2):
        new.leaf(link, "b", peer_link=link)
        for _ in range(21):
            new.wait(1.0)
            new.say(link, Pong(1))
    refusal = {3: "b did not announce anything over its last links; refused for 59 s"}
    assert shut(new.router_link(3, "b")) == refusal
    assert shut(new.router_link(4, "b", incarnation=2)) == {}
    new.wait(60.0)
    assert shut(new.router_link(5, "b")) == {}


def test_only_the_neighbours_of_a_deaf_router_close_their_links():
    lab = Lab("a-b b-c c-d d-e")
    deaf(lab, "d")
    lab.run(40.0)
    closed = [lab.router(name).counters["links_silent"] for name in "abcde"]
    assert closed in ([0, 0, 1, 0, 1], [0, 0, 1, 0, 0], [0, 0, 0, 0, 1])  # one may notice that the other has


def test_topology_goes_round_a_deaf_router():
    lab = Lab("a-b b-c c-d d-a")
    deaf(lab, "d")
    lab.run(10.0)
    lab.clients["b"].subscribe(1, "x > 1", wait=5)
    lab.run(6.0)
    assert not lab.answers("b", Subscribed)[-1].is_confirmed
    lab.run(70.0)  # a and c each: a session, another one, and a pause
    lab.clients["b"].subscribe(2, "x > 2", wait=5)
    lab.run(6.0)
    assert lab.answers("b", Subscribed)[-1].is_confirmed
