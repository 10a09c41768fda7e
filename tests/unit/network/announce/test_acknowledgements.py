"""Acknowledgements of both kinds, as one router passes them on."""

from support.memory_networks import Alone, sent

from cbnet.network.protocol.frames import AnnounceAck, StreamAck


def between():
    """Return a router a with the leaves b and c, which have acknowledged its streams."""
    alone = Alone("a")
    alone.leaf(1, "b", wants=["b = 1"])
    alone.leaf(2, "c", wants=["c = 1"])
    alone.wait(3)  # the first version is forgotten
    for stream in list(alone.router.streams.outgoing.values()):
        link = alone.router.links.to(stream.key.neighbour)
        alone.say(link, AnnounceAck([StreamAck(stream.number, 1, each) for each in (0, alone.router.version.id)]))
    return alone


def acks(actions, link):
    """Return the versions of the acknowledgements to a neighbour of the second change of its stream 1."""
    frames = sent(actions, AnnounceAck, link)
    return [ack.version for frame in frames for ack in frame.acks if (ack.number, ack.sequence) == (1, 2)]


def test_each_kind_of_acknowledgement_is_passed_on_when_all_beyond_have_sent_it():
    for first_is_stamp in (False, True):
        alone = between()
        assert acks(alone.announce(1, ["b = 2"], sequence=2), 1) == []
        (to_c,) = [each for each in alone.router.streams.outgoing.values() if each.key.neighbour == "c"]
        versions = [0, alone.router.version.id][:: -1 if first_is_stamp else 1]
        for version in versions:
            done = alone.say(2, AnnounceAck([StreamAck(to_c.number, to_c.sequence, version)]))
            assert acks(done, 1) == [version]
