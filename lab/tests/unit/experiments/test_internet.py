import pyarrow as pa
import pytest

from cbnet_lab.experiments.claim import ClaimRule
from cbnet_lab.experiments.internet import internet_finding

RULE = ClaimRule(76, "a condition")


def graph(nodes, from_file):
    return {"graph": pa.table({"nodes": [nodes], "edges": [3 * nodes], "from_file": [from_file]})}


@pytest.mark.parametrize(
    ("nodes", "from_file", "holds", "verdict"),
    [
        (41_203, True, True, "holds"),
        (41_203, True, False, "fails"),
        (42_113, False, True, "differs"),
        (42_113, False, False, "fails"),
        (2_000, True, True, "unmeasured"),
        (2_000, False, False, "unmeasured"),
    ],
)
def test_graph_of_the_papers_size_decides(nodes, from_file, holds, verdict):
    finding = internet_finding(graph(nodes, from_file), RULE, "ours", holds, "too much")
    assert (finding.verdict, finding.rule) == (verdict, "a condition")
    if verdict != "unmeasured":
        assert ("generated" in finding.reason) is not from_file


def test_condition_makes_a_difference():
    finding = internet_finding(graph(41_203, True), RULE, "ours", True, "", "with one rule of two")
    assert (finding.verdict, finding.reason) == ("differs", "with one rule of two")
