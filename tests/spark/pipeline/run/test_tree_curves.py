from cbnet.pipeline.run.tree_curves import tree_curves
from cbnet.topology import Ties, topology
from cbnet.topology.survey.survey import survey


def test_findings_equal_those_of_one_process(spark):
    graph = topology("aslike:60", seed=1)
    chosen = {"ties": [Ties.SMALLEST, Ties.RANDOM], "sources": 9, "selections": 3, "seed": 2}
    found, expected = tree_curves(spark, graph, [2, 5], **chosen), survey(graph, [2, 5], **chosen)
    size = {"nodes": len(graph), "links": graph.edge_count, "scale": graph.scale}
    assert [each.members(**size) for each in found] == [each.members(**size) for each in expected]
    assert [(each.ties, each.k) for each in found] == [(ties, k) for ties in chosen["ties"] for k in (2, 5)]
