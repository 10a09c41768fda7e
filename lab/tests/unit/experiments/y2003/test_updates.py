import pyarrow as pa

from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2003 import updates as updates_2003
from cbnet_lab.experiments.y2003.updates import EXPERIMENT

TINY = EXPERIMENT.parameters(filters=300, rates=(100,), seconds=0.2, delays=20)


def test_every_change_takes_effect(monkeypatch):
    monkeypatch.setattr("cbnet_lab.bench.matching.updates._IDLE_SECONDS", 0.1)
    tables = EXPERIMENT.run(TINY, ExperimentContext())
    assert [row["rate"] for row in tables["rates"].to_pylist()] == [0, 100]
    assert all(row["equal"] for row in tables["rates"].to_pylist())
    assert {row["tries"] for row in tables["delays"].to_pylist()} == {1}  # the next message already goes there


def judged(delay=5.0, **changed):
    rest = {"rate": 0, "made": 0.0, "us": 10.0, "equal": True, "checks": 0, "over_idle": 1.0}
    busy = {"rate": 100, "made": 100.0, "us": 11.0, "equal": True, "checks": 5, "over_idle": 1.1, **changed}
    seen = pa.Table.from_pylist([{"change": 0, "tries": 1, "us": delay}])
    (finding,) = updates_2003.EXPERIMENT.findings({"rates": pa.Table.from_pylist([rest, busy]), "delays": seen}, TINY)
    return finding.verdict


def test_verdict_follows_from_the_numbers():
    assert judged() == "holds"
    assert judged(equal=False) == "fails"
    assert judged(made=50.0) == "fails"
    assert judged(over_idle=5.0) == "fails"
    assert judged(delay=20_000.0) == "fails"
