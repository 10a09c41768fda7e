import pyarrow as pa
import pytest

from cbnet.lab.experiments.experiment import ExperimentContext
from cbnet.lab.experiments.y2006.memory import EXPERIMENT, MemoryParameters2006

TINY = MemoryParameters2006("ring", (4, 6), 8, shares=(0.5, 1.0), names=10, filters=1)


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
    assert (both.verdict, both.reason[:7]) == ("differs", "DRP too")
    assert found(lambda _: (0, 1)).verdict == "fails"


def test_pairs_that_are_not_hops_fail(tables):
    hops = pa.Table.from_pylist([{**row, "placed": row["placed"] + 1} for row in tables["hops"].to_pylist()])
    assert EXPERIMENT.findings({**tables, "hops": hops}, TINY)[0].verdict == "fails"
