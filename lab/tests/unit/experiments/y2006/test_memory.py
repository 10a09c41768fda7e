import pyarrow as pa
import pytest

from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2006.memory import EXPERIMENT

TINY = EXPERIMENT.parameters(kind="ring", nodes=(4, 6), varied=8, shares=(0.5, 1.0), names=10, filters=1)


@pytest.fixture(scope="module")
def tables():
    return EXPERIMENT.run(TINY, ExperimentContext())


def test_hops_on_rings_follow_the_closed_form(tables):
    # on a ring of 4 the others are 1, 1 and 2 hops away; of 6: 1, 1, 2, 2 and 3
    assert [(row["placed"], row["hops"]) for row in tables["hops"].to_pylist()] == [(16, 16), (54, 54)]


def test_one_tree_of_a_ring_is_a_path(tables):
    last = {row["unicast"]: row for row in tables["unicasts"].to_pylist() if row["nodes"] == 4}
    assert last["shortest"]["stretch"] == 1.0
    # one edge of four is missing: its ends are 3 apart instead of 1, the other pairs as far as before
    assert last["tree"]["stretch"] == pytest.approx((10 + 2 * 3) / 12)
    assert last["shortest"]["identifiers"] == 4 * 2 * 3


def test_senders_and_receivers_vary_one_at_a_time(tables):
    varied = {(row["senders"], row["receivers"]) for row in tables["states"].to_pylist() if row["grown"] == "s and r"}
    assert varied == {(4, 8), (8, 8), (8, 4)}
    assert {finding.claim for finding in EXPERIMENT.findings(tables, TINY)} == {44, 54, 58, 59}


def states(power):
    """Return states that are the formula, and grow with power(scheme) of senders and receivers."""
    grown = [
        {
            "grown": "n",
            "nodes": n,
            "senders": n,
            "receivers": n,
            "scheme": scheme,
            "counted": n**2,
            "formula": float(n**2),
        }
        for n in (10, 100)
        for scheme in ("psf", "ips", "pif", "pif, as printed", "drp")
    ]
    varied = [
        {"grown": "s and r", "nodes": 8, "senders": s, "receivers": r, "scheme": scheme, "formula": 1.0}
        | {"counted": int(1000 * s ** power(scheme)[0] * r ** power(scheme)[1])}
        for s, r in ((4, 8), (8, 8), (8, 4))
        for scheme in ("psf", "ips", "pif", "drp")
    ]
    return pa.Table.from_pylist(grown + varied)


def test_psf_alone_grows_with_senders_times_receivers_or_others_do_too(tables):
    def found(power):
        judged = EXPERIMENT.findings({**tables, "states": states(power)}, TINY)
        return next(finding for finding in judged if finding.claim == 59)

    assert found(lambda scheme: (1, 1) if scheme == "psf" else (0, 1)).verdict == "holds"
    both = found(lambda scheme: (1, 1) if scheme in ("psf", "drp") else (0, 1))
    assert (both.verdict, both.reason[:7]) == ("fails", "DRP too")
    assert found(lambda _: (0, 1)).verdict == "fails"


@pytest.mark.parametrize(
    ("change", "verdict"), [({}, "holds"), ({"wrong_sources": 1}, "fails"), ({"by_means": 1.2}, "fails")]
)
def test_tables_that_do_not_have_each_receiver_once_per_hop_fail(tables, change, verdict):
    hops = pa.Table.from_pylist([{**row, **change} for row in tables["hops"].to_pylist()])
    assert EXPERIMENT.findings({**tables, "hops": hops}, TINY)[0].verdict == verdict


def grown(tables, counted):
    """Return tables in which counted(n) is the state of DRP and PIF, and n² the formula."""
    rows = [
        {**row, "counted": counted(row["nodes"])} if row["grown"] == "n" else row
        for row in states(lambda _: (1, 1)).to_pylist()
    ]
    return {**tables, "states": pa.Table.from_pylist(rows)}


@pytest.mark.parametrize(
    ("counted", "verdicts"),
    [
        (lambda n: n**2, ("differs", "holds")),  # PIF: the paper prints one n too many
        (lambda n: 3 * n**2, ("fails", "fails")),  # three times the formula
        (lambda n: int(n**2.2 / 4), ("fails", "fails")),  # it grows by n^0.2 more
    ],
)
def test_state_beyond_the_formula_fails(tables, counted, verdicts):
    found = {each.claim: each.verdict for each in EXPERIMENT.findings(grown(tables, counted), TINY)}
    assert (found[54], found[58]) == verdicts


def test_unicast_that_saves_nothing_fails(tables):
    rows = [{**row, "identifiers": 100} for row in tables["unicasts"].to_pylist()]
    found = EXPERIMENT.findings({**grown(tables, lambda n: n**2), "unicasts": pa.Table.from_pylist(rows)}, TINY)
    assert next(each.verdict for each in found if each.claim == 58) == "fails"


def test_unicasts_of_the_internet_graph_are_measured_too(tmp_path):
    (tmp_path / "star.edges").write_text("".join(f"hub leaf{leaf}\n" for leaf in range(5)) + "leaf0 leaf1\n")
    tables = EXPERIMENT.run(TINY, ExperimentContext(topology=tmp_path / "star.edges"))
    found = {row["unicast"]: row for row in tables["unicasts"].to_pylist() if row["graph"] == "--topology"}
    assert found["shortest"]["identifiers"] == 6 * 2 * 5
    (hops,) = [row for row in tables["hops"].to_pylist() if row["graph"] == "--topology"]
    # the hub is 1 from 5 leaves; a leaf is 1 from the hub and 2 from 4 others, but two leaves have a link of their own
    assert (hops["placed"], hops["hops"], hops["wrong_sources"]) == (48, 48, 0)
    assert found["tree"]["identifiers"] == 6 + 5 + 3 * 5  # own positions, parents, and three for each child
    # of 30 ordered pairs only the two leaves with a link of their own are farther apart: 2 instead of 1
    assert found["tree"]["stretch"] == pytest.approx((28 + 2 * 2) / 30)
