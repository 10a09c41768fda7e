import pyarrow as pa

from cbnet.lab.bench.bench_input import bench_input
from cbnet.lab.bench.oracle import Oracle
from cbnet.lab.experiments.experiment import ExperimentContext
from cbnet.lab.experiments.y2002.introduction import EXPERIMENT, IntroductionParameters
from cbnet.lab.workload import Forwarding2002
from cbnet.language.message import Message
from cbnet.matching import reference

TINY = IntroductionParameters((400,), common=(18, 1, 0), messages=20, turns=2, seconds=0.0)


def test_matches_equal_the_reference():
    tables = EXPERIMENT.run(TINY, ExperimentContext(seed=2))
    data = bench_input(Forwarding2002(M=20, F=400, I=20, seed=2), lambda _: None)
    predicates = Oracle(data.filters).all_predicates()
    right = [len(reference.match(predicates, Message.from_dict(members))) for members in data.members]
    assert tables["matched"].column("matched").to_pylist() == right
    shares = {row["common"]: row["matched"] for row in tables["shared"].to_pylist()}
    assert shares[18] == sum(right) / 20  # no message has more than 18 names
    assert 0 == shares[0] <= shares[1] <= shares[18]


def found(us=10.0, matched=18, by_share=(10.0, 5.0, 1.0)):
    tables = {
        "times": pa.Table.from_pylist(
            [{"filters": 250_000, "constraints": 1_250_000, "method": method, "turn": 0, "us": us} for method in ("counting, 10 rounds", "pivot")]
        ),
        "matched": pa.Table.from_pylist([{"filters": 250_000, "attributes": 10, "matched": matched}]),
        "shared": pa.Table.from_pylist(
            [
                {"common": common, "method": method, "turn": 0, "us": each, "matched": float(common)}
                for common, each in zip((18, 9, 1), by_share, strict=True)
                for method in ("counting", "pivot")
            ]
        ),
    }  # fmt: skip
    return {finding.claim: finding for finding in EXPERIMENT.findings(tables, TINY)}


def test_verdicts_follow_from_the_numbers():
    assert {claim: each.verdict for claim, each in found().items()} == {16: "differs", 17: "holds", 18: "holds"}
    assert "1,000,000 filters" in found()[16].reason  # the other reading was not run
    assert found(us=3001.0)[16].verdict == "fails"
    assert found(matched=20)[17].verdict == "differs"
    assert found(by_share=(10.0, 20.0, 1.0))[18].verdict == "differs"
    assert found(by_share=(10.0, 20.0, 30.0))[18].verdict == "fails"
