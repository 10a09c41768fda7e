from math import log

import pyarrow as pa
import pytest

from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2006.distances import EXPERIMENT

TINY = EXPERIMENT.parameters(powerlaw=(20, 60), aslike=(40,), sources=10)


def test_topology_file_is_measured_beside_generated_graphs(tmp_path):
    (tmp_path / "path.edges").write_text("a b\nb c\nc d\n")
    rows = EXPERIMENT.run(TINY, ExperimentContext(topology=tmp_path / "path.edges"))["distances"].to_pylist()
    assert [(row["kind"], row["nodes"]) for row in rows] == [
        ("powerlaw", 20),
        ("powerlaw", 60),
        ("aslike", 40),
        ("--topology", 4),
    ]
    assert rows[-1]["distance"] == pytest.approx(10 / 6)  # of a path of four: 3 pairs at 1, 2 at 2, 1 at 3


@pytest.mark.parametrize(
    ("law", "verdict"),
    [(lambda n: 2 * log(log(n)), "holds"), (lambda n: log(n), "fails"), (lambda n: n**0.5, "fails")],
)
def test_only_log_log_n_holds(law, verdict):
    rows = [{"kind": "powerlaw", "nodes": n, "edges": n, "distance": law(n)} for n in (100, 10_000)]
    (finding,) = EXPERIMENT.findings({"distances": pa.Table.from_pylist(rows)}, TINY)
    assert finding.verdict == verdict


def test_law_that_holds_in_one_kind_only_differs():
    laws = {"powerlaw": lambda n: log(log(n)), "aslike": log}
    rows = [
        {"kind": kind, "nodes": n, "edges": n, "distance": law(n)} for kind, law in laws.items() for n in (100, 10_000)
    ]
    (finding,) = EXPERIMENT.findings({"distances": pa.Table.from_pylist(rows)}, TINY)
    assert finding.verdict == "differs"


def test_one_size_decides_nothing():
    rows = [{"kind": "--topology", "nodes": 50, "edges": 60, "distance": 3.0}]
    (finding,) = EXPERIMENT.findings({"distances": pa.Table.from_pylist(rows)}, TINY)
    assert finding.verdict == "unmeasured"
    assert finding.ours.startswith("--topology: 3.00 with 50 nodes")
