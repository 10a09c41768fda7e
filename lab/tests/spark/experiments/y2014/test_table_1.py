from collections import defaultdict

import pytest

from cbnet.pipeline.population.user_election import population
from cbnet.topology import shortest_path_tree, topology
from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2014 import users as users_2014
from cbnet_lab.experiments.y2014.table_1 import EXPERIMENT

PARAMETERS = EXPERIMENT.parameters(nodes=30, clusters=(2, 8), roots=5)


@pytest.fixture(scope="module")
def context(spark):
    return ExperimentContext(spark=lambda: spark)


@pytest.fixture(scope="module")
def tables(context):
    return EXPERIMENT.run(PARAMETERS, context)


def test_table_1_equals_brute_force(tables, context):
    """Every interface of the router, by looking at all pairs of descriptors behind it."""
    graph = topology("aslike:30", 0)
    [chosen] = [row for row in tables["trees"].to_pylist() if row["chosen"]]
    tree, router = shortest_path_tree(graph, chosen["root"]), chosen["router"]
    firsts = users_2014.first_clusters(context, graph, 8)
    apps = users_2014.applications()
    people = population(context.spark(), users_2014.models(context), firsts, applications=apps).collect()
    behind = defaultdict(list)
    for row in people:
        if row["node"] != router:
            behind[first_hop(tree, router, row["node"])].append(frozenset(row["tags"]))
    counted = {row["interface"]: row for row in tables["interfaces"].to_pylist() if row["clusters"] == 8}
    for interface, sets in behind.items():
        distinct = set(sets)
        kept = [each for each in distinct if not any(other < each for other in distinct)]
        row = counted[interface]
        assert (row["descriptors"], row["distinct"], row["kept"]) == (len(sets), len(distinct), len(kept))
        assert row["tags"] == sum(map(len, sets))
    assert counted[None]["kept"] == sum(row["kept"] for name, row in counted.items() if name is not None)
    assert counted[None]["destinations"] == 29


def first_hop(tree, router, node):
    """Return the neighbour of a router that a node is behind, by walking up from the node."""
    while node != router and tree.parents[node] >= 0:
        if tree.parents[node] == router:
            return node
        node = int(tree.parents[node])
    return int(tree.parents[router])


def test_tree_with_the_closest_number_of_interfaces_is_chosen(tables):
    trees = tables["trees"].to_pylist()
    [chosen] = [row for row in trees if row["chosen"]]
    assert abs(chosen["interfaces"] - 325) == min(abs(row["interfaces"] - 325) for row in trees)


def test_small_run_leaves_claims_unmeasured(tables):
    found = {finding.claim: finding for finding in EXPERIMENT.findings(tables, PARAMETERS)}
    assert set(found) == set(EXPERIMENT.claims)
    assert found[84].verdict == found[86].verdict == found[87].verdict == "unmeasured"
    [grid] = EXPERIMENT.grids(tables, PARAMETERS)
    assert [row[0] for row in grid.rows][:3] == ["Interfaces", "Destinations", "Tags"]
    assert found[88].ours.startswith("518.83 and 54.63 MiB")  # 50 bytes of 10,880,657 and of 1,145,713


def test_shares_fall_as_the_population_grows(tables):
    share, _ = EXPERIMENT.charts(tables, PARAMETERS)
    kept = [row["share"] for row in share.table.to_pylist() if row["of"] == "kept"]
    assert kept[0] > kept[1]


def test_population_of_the_paper_has_its_number_of_descriptors():
    total = 2_500_000 * sum(app.share * app.descriptors for app in users_2014.applications())
    assert total == pytest.approx(85_504_514)
