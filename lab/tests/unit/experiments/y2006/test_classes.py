import pyarrow as pa
import pytest

from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2006.classes import EXPERIMENT

TINY = EXPERIMENT.parameters(networks=("ring:9",), sources=9, routers=9, counted=("ring:9",))


def test_classes_on_a_ring_are_the_distinct_sets_of_nodes_behind_a_router(tmp_path):
    (tmp_path / "star.edges").write_text("".join(f"hub leaf{leaf}\n" for leaf in range(5)))
    tables = EXPERIMENT.run(TINY, ExperimentContext(topology=tmp_path / "star.edges"))
    rows = tables["classes"].to_pylist()
    # on a ring of 9: from 4, 3, 2, 1 hops on either side with 1, 2, 3, 4 nodes behind (1 behind: only itself, from both
    # sides alike), and its own
    assert {row["classes"] for row in rows if row["network"] == "ring:9"} == {8}
    # at the hub of a star: every leaf, and itself
    assert [row["classes"] for row in rows if row["network"] == "--topology"] == [6]
    (state,) = tables["states"].to_pylist()
    assert state["ips"] == pytest.approx(state["psf"], rel=0.01)  # nothing to gain, and a little to keep for I and R


def test_half_as_many_classes_as_sources_hold():
    def judged(*counts):
        rows = [
            {"network": f"n{place}", "nodes": 9, "sources": 10, "degree": 2, "classes": count}
            for place, count in enumerate(counts)
        ]
        states = pa.Table.from_pylist([{"network": "n", "nodes": 9, "psf": 100, "ips": 80}])
        (finding,) = EXPERIMENT.findings({"classes": pa.Table.from_pylist(rows), "states": states}, TINY)
        assert finding.ours.endswith("80% of PSF's (n)")
        return finding.verdict

    assert (judged(5, 2), judged(6, 2), judged(6, 7)) == ("holds", "fails", "fails")


def test_best_connected_router_counts_too():
    rows = [
        {"network": "n", "nodes": 9, "sources": 10, "degree": degree, "classes": classes}
        for degree, classes in ((2, 1), (2, 2), (8, 9))
    ]
    states = pa.Table.from_pylist([{"network": "n", "nodes": 9, "psf": 100, "ips": 80}])
    (finding,) = EXPERIMENT.findings({"classes": pa.Table.from_pylist(rows), "states": states}, TINY)
    assert finding.verdict == "differs"
    assert finding.ours.startswith("classes at the median router: n 2 (at the best connected router 9) of 10 sources")
