import pyarrow as pa
import pytest

from cbnet.routing.sizing.advantage import expected
from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2006.figures_5_to_7 import FIGURE_5
from cbnet_lab.experiments.y2006.monte_carlo import SCHEMA

TINY = FIGURE_5.parameters(universes=(10_000,), sets=10)


@pytest.fixture(scope="module")
def tables():
    return FIGURE_5.run(TINY, ExperimentContext())


def test_uniform_sets_follow_the_closed_form_and_zipf_is_below(tables):
    rows = {(row["scenario"], row["rule"], row["predicates"]): row["p50"] for row in tables["advantages"].to_pylist()}
    for count in (2, 10, 100):
        uniform = rows["uniform-10000", "distinct", count]
        assert uniform == pytest.approx((1 - 0.99**count) / (count / 100), abs=0.02)
        assert rows["zipf-10000", "distinct", count] < uniform
    found = {finding.claim: finding for finding in FIGURE_5.findings(tables, TINY)}
    assert list(found) == [60, 61, 62]
    assert found[60].verdict == found[61].verdict == "unmeasured"  # one universe of three
    assert "k distinct messages" in found[62].ours
    assert "k draws" in found[62].ours


def advantages(uniform=lambda ratio: (1 - 0.99 ** (100 * ratio)) / ratio, zipf=0.95, saved=0.5, drawn=0.5):
    """Return a table of the three universes; with Zipf α is a share of the uniform one, but five save a given share."""
    rows = []
    for universe in (10**4, 10**5, 10**6):
        for count in (1, 2, 5, 100):
            for rule, five in (("distinct", saved), ("draws", drawn)):
                closed = uniform(count / 100)
                medians = {"uniform": closed, "zipf": 1 - five if count == 5 else zipf * closed}
                rows += [
                    {"scenario": f"{name}-{universe}", "rule": rule, "predicates": count, "sets": 10}
                    | dict.fromkeys(("min", "p5", "p50", "p95", "max"), alpha)
                    for name, alpha in medians.items()
                ]
    return {"advantages": pa.Table.from_pylist(rows, schema=SCHEMA)}


def verdicts(**changed):
    return {finding.claim: finding.verdict for finding in FIGURE_5.findings(advantages(**changed), TINY)}


def test_closed_form_and_its_approximation_decide():
    assert verdicts() == {60: "holds", 61: "holds", 62: "holds"}
    assert verdicts(uniform=lambda ratio: 1.02 * (1 - 0.99 ** (100 * ratio)) / ratio)[60] == "fails"


def test_zipf_above_uniform_fails():
    assert verdicts(zipf=1.01)[61] == "fails"


def test_distinct_messages_decide_by_how_much_five_predicates_shrink():
    """The paper defines |p| = k. k draws, of which some repeat, are only shown."""
    assert verdicts(saved=0.42, drawn=0.1)[62] == "holds"
    found = {each.claim: each for each in FIGURE_5.findings(advantages(saved=0.23, drawn=0.51), TINY)}
    assert found[62].verdict == "fails"
    assert "k draws): 51% (10,000)" in found[62].ours


def test_second_chart_ends_at_a_tenth(tables):
    whole, zoomed = FIGURE_5.charts(tables, TINY)
    assert max(zoomed.table.column("ratio").to_pylist()) <= 0.1
    assert all("zipf" in series for series in zoomed.table.column("series").to_pylist())
    closed = [row["alpha"] for row in whole.table.to_pylist() if row["series"] == "closed form"]
    assert set(whole.table.column("of").to_pylist()) == {"predicates of k distinct messages", "predicates of k draws"}
    assert closed[0] == expected(1, 100, 10_000) == 1.0
