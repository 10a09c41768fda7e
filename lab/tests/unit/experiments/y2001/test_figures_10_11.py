import pyarrow as pa

from cbnet.language.message import Message
from cbnet.matching import reference
from cbnet_lab.bench.bench_input import bench_input
from cbnet_lab.bench.matching.oracle import Oracle
from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2001.figures_9_to_12 import FIGURES_10_11
from cbnet_lab.workload import Forwarding2001

TINY = FIGURES_10_11.parameters(filters=(30, 300), names=(50, 100, 1000), interfaces=(5,), messages=40)


def test_match_counts_equal_the_reference():
    rows = FIGURES_10_11.run(TINY, ExperimentContext(seed=3))["matched"].to_pylist()
    data = bench_input(Forwarding2001(N=40, F=300, I=5, A=50, seed=3), lambda _: None)
    predicates = Oracle(data.filters).all_predicates()
    counts = [len(reference.match(predicates, Message.from_dict(members))) for members in data.members]
    assert {(row["matched"], row["messages"]) for row in rows if (row["names"], row["filters"]) == (50, 300)} == {
        (count, counts.count(count)) for count in counts
    }


def test_more_filters_and_fewer_names_leave_fewer_messages_without_a_match():
    tables = FIGURES_10_11.run(TINY, ExperimentContext())
    _, ignored = FIGURES_10_11.charts(tables, TINY)
    share = {(row["of"], row["filters"]): row["ignored"] for row in ignored.table.to_pylist()}
    assert share["A = 50", 300] < share["A = 50", 30]
    assert share["A = 50", 300] < share["A = 1000", 300]


def verdicts(shares):
    """Judge tables in which a share of 1000 messages goes to none of 50 interfaces, and the rest to all."""
    rows = [
        {"names": a, "filters": f, "interfaces": 50, "matched": to, "messages": count}
        for (a, f), none in shares.items()
        for to, count in ((0, round(1000 * none)), (50, round(1000 * (1 - none))))
    ]
    return {finding.claim: finding for finding in FIGURES_10_11.findings({"matched": pa.Table.from_pylist(rows)}, TINY)}


def test_shares_of_the_paper_hold_and_others_do_not():
    paper = {(1000, f): 0.9 for f in (1000, 10_000, 100_000)}
    paper |= {(a, f): share for a in (50, 100) for f, share in ((1000, 0.3), (10_000, 0.0), (100_000, 0.0))}
    assert {claim: finding.verdict for claim, finding in verdicts(paper).items()} == {
        8: "holds",
        9: "holds",
        10: "holds",
    }
    falling = paper | {(1000, 10_000): 0.4, (1000, 100_000): 0.0}
    found = verdicts(falling)
    assert (found[9].verdict, found[9].ours) == ("fails", "90% at 1,000, 40% at 10,000, 0% at 100,000 filters")
    assert found[8].verdict == "fails"  # with 1000 names, most messages go to all at 10,000 filters
    assert verdicts({key: share for key, share in paper.items() if key[1] < 100_000})[8].verdict == "unmeasured"
    assert verdicts(paper | {(100, 10_000): 0.2})[10].verdict == "fails"
