import numpy as np
import pytest

from cbnet.errors import InputError
from cbnet.topology import Ties, topology
from cbnet.topology.as_classes import root_classes
from cbnet.topology.survey import TreeStatistics, ValueCounts, survey, survey_selection


def members(found, graph):
    return [each.members(nodes=len(graph), links=graph.edge_count, scale=graph.scale) for each in found]


def test_a_ring_of_three_by_hand():
    # Each tree lacks one link. Of the six pairs, the two of its ends take 2 hops, not 1; so the other two links, of
    # which each is on two paths of three, are crossed by 2 x 2 pairs.
    graph = topology("ring:3")
    [found] = members(survey(graph, [1], sources=None, selections=5), graph)
    assert (found["ties"], found["k"], found["selections"], found["sources"]) == ("smallest", 1, 5, 15)
    for extra in (found["extra_mean"], found["extra_worst"]):
        assert [extra[what]["mean"] for what in ("pairs", "sources")] == pytest.approx([1 / 3] * 2, abs=1e-6)
        # four pairs of six have 0; the root has 0, the two others 1/2 each
        assert [extra["pairs"][name] for name in ("p1", "p25", "p50", "p75", "p99")] == [0, 0, 0, 1, 1]
        assert [extra["sources"][name] for name in ("p1", "p25", "p50", "p75", "p99")] == [0, 0, 0.5, 0.5, 0.5]
    assert found["interfaces"] == {
        "used": 4, "mean": 1, "p1": 1, "p25": 1, "p50": 1, "p75": 1, "p99": 1, "largest": [1, 1],
    }  # fmt: skip
    assert found["load"] == {"links": 3, "used": 2, "mean": 0.666666667, "largest": 0.666666667}


def test_on_a_tree_nothing_is_longer_and_all_trees_are_one():
    graph = topology("tree:31")
    for found in members(survey(graph, [1, 4, 9], ties=[*Ties], sources=10, selections=2), graph):
        assert found["extra_mean"]["pairs"]["p99"] == found["extra_worst"]["sources"]["p99"] == 0
        assert (found["interfaces"]["used"], found["interfaces"]["largest"]) == (60, [1, 1])
        assert found["load"]["used"] == 30


def test_lengths_are_in_the_unit_of_the_weights(graph):
    # as in the ring of three: two pairs of six take two sides, so 0.5 more
    weighted = graph("0-1:0.5 0-2:0.5 1-2:0.5")
    [found] = members(survey(weighted, [1], sources=None, selections=1), weighted)
    for extra in (found["extra_mean"], found["extra_worst"]):
        assert [extra[what]["mean"] for what in ("pairs", "sources")] == pytest.approx([0.5 / 3] * 2, abs=1e-6)
        assert (extra["pairs"]["p99"], extra["sources"]["p99"]) == (0.5, 0.25)


def test_selections_stand_alone_and_are_merged():
    graph = topology("random:120", seed=2)
    classes = root_classes(graph)
    whole = survey(graph, [2, 6], ties=[Ties.RANDOM], sources=11, selections=3, seed=5)
    parts = [
        survey_selection(graph, classes, [2, 6], Ties.RANDOM, sources=11, seed=5, selection=selection)
        for selection in (2, 0, 1)
    ]
    joined = [TreeStatistics.merged([parts[1][place], parts[2][place], parts[0][place]]) for place in range(2)]
    assert members(whole, graph) == members(joined, graph)
    assert members(parts[0], graph) != members(parts[1], graph)


def test_fewer_trees_are_the_first_of_many():
    graph = topology("powerlaw:150")
    alone = survey(graph, [4], sources=20, selections=2)
    assert members(survey(graph, [4, 16], sources=20, selections=2)[:1], graph) == members(alone, graph)


def test_the_seed_chooses_all():
    graph = topology("random:120")
    one, same, other = (members(survey(graph, [3], sources=9, selections=2, seed=seed), graph) for seed in (0, 0, 1))
    assert one == same != other


def test_whoever_waits_hears_of_every_source():
    steps = []
    survey(topology("ring:9"), [1, 2], ties=[*Ties], sources=4, selections=2, done=lambda: steps.append(1))
    assert len(steps) == len(Ties) * 2 * 4


def test_sources_and_averages_are_kept_by_source():
    [found] = survey(topology("random:50"), [3], sources=7, selections=2)
    assert found.stretch.means.shape == found.stretch.means_largest.shape == (14,)
    assert found.stretch.totals.size == found.stretch.largest.size == 14 * 49
    assert np.mean(found.stretch.means) == pytest.approx(found.stretch.totals.mean / 3)
    assert np.mean(found.stretch.means_largest) == pytest.approx(found.stretch.largest.mean)


@pytest.mark.parametrize(
    ("spec", "options", "problem"),
    [
        ("ring:9", {"selections": 0}, "the number of selections must be at least 1, not 0"),
        ("ring:9", {"sources": 0}, "the number of sources must be at least 1, not 0"),
        ("ring:9", {"seed": -1}, "the seed must be"),
        ("tree:1", {}, "the graph has one node"),
    ],
)
def test_bad_numbers_are_refused(spec, options, problem):
    with pytest.raises(InputError, match=problem):
        survey(topology(spec), [1], **options)


def of(*values):
    return ValueCounts.of(np.array(values, dtype=np.int64))


@pytest.mark.parametrize("values", [(3, 1, 3, 0), (7,), (5, 10**15, 5)])
def test_values_are_counted(values):
    found = of(*values)
    assert dict(zip(found.values.tolist(), found.counts.tolist(), strict=True)) == {v: values.count(v) for v in values}
    assert found.values.tolist() == sorted({*values})
    assert found.size == len(values)
    assert found.mean == pytest.approx(sum(values) / len(values))


def test_parts_make_the_whole():
    whole = ValueCounts.merged([of(3, 1), of(), of(1, 1, 10**12)])
    assert (whole.values.tolist(), whole.counts.tolist()) == ([1, 3, 10**12], [3, 1, 1])


def test_percentiles_are_values_by_hand():
    # of ten values, the 1st to 10th percentile is the first, the 11th to 20th the second …
    counts = of(*range(10, 20))
    assert counts.percentiles([1, 10, 11, 50, 90, 91, 99, 100]) == [10, 10, 11, 14, 18, 19, 19, 19]


def test_percentiles_are_those_of_numpy():
    values = np.random.default_rng(0).zipf(1.5, 997) % 1000
    asked = range(1, 100)
    assert ValueCounts.of(values).percentiles(asked) == np.percentile(values, asked, method="inverted_cdf").tolist()


def test_without_values_all_is_nothing():
    empty = ValueCounts.merged([])
    assert (empty.size, empty.mean, empty.percentiles([1, 99])) == (0, 0, [0, 0])
