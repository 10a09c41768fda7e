"""Headers travel with names, and are read by routers that may know fewer of them."""

import pytest

from cbnet.network.protocol.header_codec import DestinationHeaderCodec, NodeHeaderCodec, TreeHeaderCodec
from cbnet.network.protocol.wire import WireError
from cbnet.routing.multitree.multitree import NotificationHeader

NAMES = ["a", "b", "c"]
IDS = {"a": 0, "b": 1, "c": 2}
TREES = TreeHeaderCodec(NAMES, IDS, [2, 0])


@pytest.mark.parametrize(
    ("headers", "header", "written"),
    [
        (NodeHeaderCodec(NAMES, IDS), 1, "b"),
        (DestinationHeaderCodec(NAMES, IDS), (0, 2), ["a", "c"]),
        (TREES, NotificationHeader(1, 1), ["a", "b"]),
    ],
)
def test_header_survives_encoding(headers, header, written):
    assert headers.write(header) == written
    assert headers.read(written) == header


def test_unknown_nodes_are_left_out_of_a_header():
    assert NodeHeaderCodec(NAMES, IDS).read("x") is None
    assert DestinationHeaderCodec(NAMES, IDS).read(["x", "c", "c"]) == (2,)
    assert DestinationHeaderCodec(NAMES, IDS).read(["x"]) is None
    assert TREES.read(["x", "b"]) is None
    assert TREES.read(["a", "x"]) is None
    assert TREES.read(["b", "a"]) is None  # a node, but the root of no tree


@pytest.mark.parametrize(
    ("headers", "written"),
    [
        (NodeHeaderCodec(NAMES, IDS), ["a"]),
        (DestinationHeaderCodec(NAMES, IDS), "a"),
        (TREES, "a"),
        (TREES, ["a", "b", "c"]),
        (TREES, []),
    ],
)
def test_the_header_of_another_scheme_is_refused(headers, written):
    with pytest.raises(WireError):
        headers.read(written)


def test_a_header_for_one_node_alone():
    destinations = DestinationHeaderCodec(NAMES, IDS)
    assert destinations.toward((0, 2), 2, at_source=False) == (2,)
    assert destinations.toward((0, 2), 1, at_source=False) == ()
    assert destinations.toward((0, 2), 1, at_source=True) == (1,)
    assert NodeHeaderCodec(NAMES, IDS).toward(1, 2, at_source=True) == 1
