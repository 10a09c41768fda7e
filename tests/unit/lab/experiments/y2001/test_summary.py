import pyarrow as pa
import pytest

from cbnet.lab.bench.bench_input import bench_input
from cbnet.lab.experiments.experiment import ExperimentContext
from cbnet.lab.experiments.unknown_attributes import with_unknown_attributes
from cbnet.lab.experiments.y2001.summary import EXPERIMENT, SummaryParameters
from cbnet.lab.workload import Forwarding2001

TINY = SummaryParameters((100, 200), scanned=50, common=(0, 3, 10), interfaces=(2,), messages=20, turns=2, seconds=0.0)


@pytest.mark.parametrize("kept", [0, 2, 10])
def test_renamed_messages_keep_all_values_and_some_names(kept):
    data = bench_input(Forwarding2001(N=30, F=50, I=2, A=20), lambda _: None)
    for before, after in zip(data.members, with_unknown_attributes(data, kept).members, strict=True):
        assert sum(name in before for name in after) == min(kept, len(before))
        assert {name.split(": ")[-1]: value for name, value in after.items()} == before


def test_messages_without_names_in_common_touch_nothing():
    tables = EXPERIMENT.run(TINY, ExperimentContext())
    assert {row["postings"] for row in tables["disjoint"].to_pylist()} == {0}
    by_names = {row["common"]: row["postings"] for row in tables["common"].to_pylist() if row["method"] == "counting"}
    assert 0 == by_names[0] < by_names[3] < by_names[10]
    found = {finding.claim: finding.verdict for finding in EXPERIMENT.findings(tables, TINY)}
    assert set(found) == {4, 13, 14, 15}
    assert found[4] in ("holds", "differs")
    assert found[15] == "open"


def test_short_circuit_must_save_half_and_most_in_large_tables():
    def judged(off):
        rows = [
            {"interfaces": 2, "filters": f, "method": method, "turn": turn, "us": us}
            for f in (100, 1000)
            for method, us in (("counting", 10.0), ("counting, no short-circuit", off(f)))
            for turn in (0, 1)
        ]
        tables = {**EXPERIMENT.run(TINY, ExperimentContext()), "short": pa.Table.from_pylist(rows)}
        return next(finding for finding in EXPERIMENT.findings(tables, TINY) if finding.claim == 14)

    assert judged(lambda f: f / 10).verdict == "holds"
    assert "10.0 (10.0 to 10.0) at I = 2, 1,000 filters" in judged(lambda f: f / 10).ours
    assert judged(lambda _: 30.0).verdict == "fails"  # three times as long, but no more in the large table
