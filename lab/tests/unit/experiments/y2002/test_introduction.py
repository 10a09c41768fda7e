import pyarrow as pa

from cbnet.language.message import Message
from cbnet.matching import reference
from cbnet_lab.bench.bench_input import bench_input
from cbnet_lab.bench.matching.oracle import Oracle
from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2002.introduction import INTRODUCTION
from cbnet_lab.workload import Forwarding2002

TINY = INTRODUCTION.parameters(tables=((400, 1, 10),), common=(10, 1, 0), messages=20, turns=2, seconds=0.0)


def test_matches_equal_the_reference():
    tables = INTRODUCTION.run(TINY, ExperimentContext(seed=2))
    data = bench_input(Forwarding2002(M=20, F=400, I=20, a_l=10, a_h=11, seed=2), lambda _: None)
    predicates = Oracle(data.filters).all_predicates()
    right = [len(reference.match(predicates, Message.from_dict(members))) for members in data.members]
    assert tables["matched"].column("matched").to_pylist() == right
    shares = {row["common"]: row["matched"] for row in tables["shared"].to_pylist()}
    assert shares[10] == sum(right) / 20  # all messages have 10 names
    assert 0 == shares[0] <= shares[1] <= shares[10]


READINGS = ((250_000, 1, 10), (1_000_000, 1, 10), (250_000, 1, 40), (250_000, 11, 30))


def found(us=10.0, matched=(18, 18, 20, 0), by_share=(10.0, 5.0, 1.0), readings=READINGS):
    sizes = [{"filters": filters, "c_l": c_l, "c_h": c_h} for filters, c_l, c_h in readings]
    tables = {
        "times": [
            {**size, "method": method, "turn": 0, "us": us} for size in sizes for method in ("counting, 10 rounds", "pivot")
        ],
        "matched": [{**size, "matched": count} for size, count in zip(sizes, matched, strict=False)],
        "shared": [
            {"common": common, "method": method, "turn": 0, "us": each, "matched": float(common)}
            for common, each in zip((18, 9, 1), by_share, strict=True)
            for method in ("counting", "pivot")
        ],
    }  # fmt: skip
    tables = {name: pa.Table.from_pylist(rows) for name, rows in tables.items()}
    return {finding.claim: finding for finding in INTRODUCTION.findings(tables, TINY)}


def test_verdicts_follow_from_the_numbers():
    assert {claim: each.verdict for claim, each in found().items()} == {16: "holds", 17: "holds", 18: "holds"}
    assert found(us=3001.0)[16].verdict == "fails"
    assert found(matched=(20, 18, 18, 18))[17].verdict == "fails"  # both readings with the constraints of §5.1 decide
    assert "250,000 filters of 1 to 39 constraints: median 18 of 20" in found(matched=(20, 20, 18, 0))[17].ours
    assert found(by_share=(10.0, 20.0, 1.0))[18].verdict == "fails"
    assert found(by_share=(10.0, 10.5, 9.0))[18].verdict == "holds"
    assert found(by_share=(1.0, 5.0, 10.0))[18].verdict == "fails"


def test_other_tables_decide_nothing_about_the_paper():
    few = found(readings=READINGS[:2])
    assert (few[16].verdict, few[17].verdict) == ("unmeasured", "unmeasured")
    assert "250,000 filters of 1 to 39 constraints" in few[16].reason
