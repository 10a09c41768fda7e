import pytest

from cbnet.errors import InputError
from cbnet.topology import Graph, average_distance, path_lengths, topology
from cbnet.topology.traversal import sample_sources


def test_a_line_by_hand(graph):
    # 0-1 1, 1-2 1, 2-3 1: three pairs at 1, two at 2, one at 3, in both directions
    lengths = path_lengths(graph("0-1 1-2 2-3"))
    assert (lengths.sources, lengths.pairs, lengths.total, lengths.longest) == (4, 12, 20, 3)
    assert lengths.mean == pytest.approx(20 / 12)


def test_averages_are_in_the_unit_of_the_weights(graph):
    assert average_distance(graph("0-1:0.5 1-2:0.25")) == pytest.approx((0.5 + 0.25 + 0.75) / 3)


def test_pairs_without_a_path_are_left_out(graph):
    lengths = path_lengths(graph("0-1 2-3"))
    assert (lengths.pairs, lengths.mean) == (4, 1)
    assert path_lengths(Graph.from_edges([], names="a")).mean == 0


def test_few_sources_say_almost_the_same():
    graph = topology("random:2000")
    assert average_distance(graph, sources=200) == pytest.approx(average_distance(graph, sources=None), rel=0.02)


def test_sources_are_different_and_follow_the_seed(twelve):
    assert (
        sample_sources(twelve, None, 0)
        == sample_sources(twelve, 12, 0)
        == sample_sources(twelve, 99, 5)
        == [*range(12)]
    )
    drawn = sample_sources(twelve, 5, 1)
    assert len(set(drawn)) == 5
    assert drawn == sample_sources(twelve, 5, 1) != sample_sources(twelve, 5, 2)
    with pytest.raises(InputError, match="at least 1, not 0"):
        sample_sources(twelve, 0, 0)
    with pytest.raises(InputError, match="at least 0, not -1"):
        sample_sources(twelve, 5, -1)
