import pytest

from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2001.index_order import (
    EXPERIMENT,
    ORDERS,
    VALUE_INDEXES,
    ConstraintIndex,
    IndexOrderParameters,
)

TINY = IndexOrderParameters(100, (20,), messages=10, turns=1)
# the index of [2001 Figure 7], and a name that occurs with another type
CONSTRAINTS = [
    *((("int", "quantity", bound), "<") for bound in (5, 20, 350)),
    *((("int", "quantity", bound), ">") for bound in (0, 3, 50, 200)),
    (("int", "quantity", 10), "="),
    (("string", "dest", "Milano"), "="),
]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", VALUE_INDEXES)
def test_every_index_selects_the_constraints_of_figure_7(order, kind):
    index = ConstraintIndex(CONSTRAINTS, order, VALUE_INDEXES[kind])
    selected = {(operator, value) for operator, value in index.select(("int", "quantity", 10))}
    assert selected == {("<", 20), ("<", 350), (">", 0), (">", 3), ("=", 10)}
    assert sorted(index.select(("int", "quantity", 20))) == [("<", 350), (">", 0), (">", 3)]  # no constant equal to it
    assert index.select(("string", "quantity", "10")) == index.select(("int", "price", 1)) == []


def test_type_first_searches_the_names_of_one_type():
    by_type, by_name = (ConstraintIndex(CONSTRAINTS, order, VALUE_INDEXES["sorted"]) for order in ORDERS)
    by_type.select(("int", "price", 1))
    by_name.select(("int", "price", 1))
    assert (by_type.steps, by_name.steps) == (1, 2)  # one name of integers, two in all


def test_all_combinations_are_compared():
    tables = EXPERIMENT.run(TINY, ExperimentContext())
    rows = tables["times"].to_pylist()
    assert {(row["order"], row["values"]) for row in rows} == {(a, b) for a in ORDERS for b in VALUE_INDEXES}
    assert {row["selected"] for row in rows if row["attributes"] == "unknown names"} == {0}
    assert EXPERIMENT.findings(tables, TINY) == []
    assert len(EXPERIMENT.charts(tables, TINY)) == 1
