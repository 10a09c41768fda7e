import pytest

from cbnet.errors import InputError
from cbnet.topology import Graph, average_distance, path_lengths, topology
from cbnet.topology.edges import EdgeSet, Relation
from cbnet.topology.summary import summarise
from cbnet.topology.traversal import sample_sources


def test_a_star_with_a_tail_by_hand(graph):
    #  1   2
    #   \ /
    #    0 - 3 - 4
    said = summarise(graph("0-1 0-2 0-3 3-4"))
    assert (said["nodes"], said["edges"], said["repeated"], said["bridges"]) == (5, 4, 0, 4)
    assert (said["weights"], said["classes"]) == (None, None)
    assert said["degrees"] == {
        "smallest": 1, "median": 1, "mean": 1.6, "largest": 3,
        "counts": [{"from": 1, "to": 1, "nodes": 3}, {"from": 2, "to": 2, "nodes": 1}, {"from": 3, "to": 3, "nodes": 1}],
    }  # fmt: skip
    # 4 pairs at 1, 4 at 2 (1-2, 1-3, 2-3, 0-4), 2 at 3, both ways: (4 + 8 + 6) / 10
    assert said["distances"] == {
        "sources": 5, "exact": True, "mean": 1.8, "longest": 3,
        "counts": [{"from": 1, "to": 1, "pairs": 8}, {"from": 2, "to": 2, "pairs": 8}, {"from": 3, "to": 3, "pairs": 4}],
    }  # fmt: skip
    assert said["components"] == {"count": 1, "sizes": [5]}
    # of the 6 pairs of others 5 lead through 0 (all but 3-4), and 3 through 3
    assert [(row["node"], row["betweenness"]) for row in said["central"][:3]] == [(0, 0.833333), (3, 0.5), (1, 0)]


def test_degrees_are_counted_in_bins_that_double():
    said = summarise(topology("tree:41,arity=40"))["degrees"]["counts"]
    assert said == [{"from": 1, "to": 1, "nodes": 40}, {"from": 33, "to": 40, "nodes": 1}]
    alone = summarise(Graph.from_edges([(1, 2)], names=[3]))["degrees"]["counts"]
    assert alone == [{"from": 0, "to": 0, "nodes": 1}, {"from": 1, "to": 1, "nodes": 2}]


def test_lengths_are_in_the_unit_of_the_weights(graph):
    said = summarise(graph("0-1:0.5 1-2:2"))
    assert said["weights"] == {"smallest": 0.5, "mean": 1.25, "largest": 2}
    # 0.5, 2 and 2.5, as 5, 20 and 25 tenths: 26 numbers in 12 rows make rows of three
    assert said["distances"]["longest"] == 2.5
    assert said["distances"]["counts"] == [
        {"from": 0.3, "to": 0.5, "pairs": 2}, {"from": 1.8, "to": 2.0, "pairs": 2}, {"from": 2.4, "to": 2.5, "pairs": 2},
    ]  # fmt: skip


def test_small_means_keep_four_digits(graph):
    said = summarise(graph("0-1:0.00000012341 1-2:0.00000012343"))
    assert said["weights"] == {"smallest": 0.00000012341, "mean": 0.0000001234, "largest": 0.00000012343}
    # 12341, 12343 and 24684 units of 10**-11: 49368 / 3 = 16456
    assert said["distances"]["mean"] == 0.0000001646


def test_many_distances_make_few_rows():
    said = summarise(topology("ring:3000"), sources=10)["distances"]
    assert (said["sources"], said["exact"], said["longest"]) == (10, False, 1500)
    assert len(said["counts"]) <= 12
    assert sum(row["pairs"] for row in said["counts"]) == 10 * 2999
    assert (said["counts"][0]["from"], said["counts"][-1]["to"]) == (1, 1500)


def test_components_and_classes_are_counted():
    edges = EdgeSet()
    for customer in range(2, 8):
        edges.add(1, customer, relation=Relation.CUSTOMER)
    edges.add(10, 11, relation=Relation.PEER)
    said = summarise(Graph.from_edge_set(edges))
    assert said["components"] == {"count": 2, "sizes": [7, 2]}
    assert said["classes"] == {"Tier-1": 0, "Large": 0, "Small": 1, "Stub": 8}
    assert said["central"][0]["class"] == "Small"


def test_every_measurement_is_tracked(twelve):
    tracked = []

    def track(sources, description):
        tracked.append((description, len(sources)))
        return sources

    summarise(twelve, sources=3, track=track)
    assert tracked == [("distances", 3), ("betweenness", 3)]


def test_a_line_by_hand(graph):
    # 0-1 1, 1-2 1, 2-3 1: three pairs at 1, two at 2, one at 3, in both directions
    lengths = path_lengths(graph("0-1 1-2 2-3"))
    assert (lengths.sources, lengths.pairs, lengths.total, lengths.longest, lengths.width) == (4, 12, 20, 3, 1)
    assert lengths.counts[:5].tolist() == [0, 6, 4, 2, 0]
    assert lengths.mean == pytest.approx(20 / 12)


def test_averages_are_in_the_unit_of_the_weights(graph):
    assert average_distance(graph("0-1:0.5 1-2:0.25")) == pytest.approx((0.5 + 0.25 + 0.75) / 3)


def test_long_paths_are_counted_in_wider_bins(graph):
    lengths = path_lengths(graph("0-1:1 1-2:3000 2-3:1"))
    # 1 twice, 3000, 3001 twice, 3002, both ways; 4 x 1024 = 4096 is the first power that holds 3002
    assert lengths.width == 4
    assert {place: count for place, count in enumerate(lengths.counts.tolist()) if count} == {0: 4, 750: 8}
    assert (lengths.longest, lengths.total) == (3002, 2 * (1 + 1 + 3000 + 3001 + 3001 + 3002))


def test_wider_bins_lose_no_pair():
    graph = topology("ring:5000")
    lengths = path_lengths(graph, sources=20)
    assert lengths.counts.sum() == lengths.pairs == 20 * 4999
    assert lengths.width == 4  # the longest is 2500


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
