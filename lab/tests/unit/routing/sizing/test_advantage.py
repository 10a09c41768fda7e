from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbnet.errors import InputError
from cbnet.language import Predicate, disjunction_advantage, parse
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet.routing.sizing.advantage import Predicates, Universe, _zipf_ranks, expected
from cbnet_lab.workload import SCENARIOS, Disjunction2006, predicates

both_rules = pytest.mark.parametrize("rules", ["full", "pairwise"])


def table(*texts):
    """Return filters, each a predicate of its own, as a table."""
    rows = []
    for number, text in enumerate(texts):
        [filter] = parse(text).filters
        rows += [
            {"rule": number, "filter": number, "name": constraint.name, "op": str(constraint.op)}
            | {("string" if isinstance(constraint.value, str) else "int"): constraint.value}
            for constraint in filter.constraints
        ]
        rows += [{"rule": number, "filter": number, "name": tag, "op": "#"} for tag in filter.tags]
        if not (filter.constraints or filter.tags):
            rows.append({"rule": number, "filter": number})
    types = {"rule": pa.int64(), "filter": pa.int64(), "name": pa.string(), "op": pa.string()}
    types |= {"string": pa.string(), "int": pa.int64()}
    return pa.Table.from_pylist(rows, pa.schema(list(types.items())))


@both_rules
def test_severity_above_2_and_above_3_have_an_advantage_of_one_half(rules):
    assert Predicates(table("severity > 2", "severity > 3")).advantages([1, 2], rules) == [1, 1 / 2]  # [2006 §2.4]


@both_rules
def test_the_example_of_the_paper_keeps_one_constraint_of_three(rules):
    both = Predicates(table("x > 10 and y = 100", "y > 0"))
    assert both.advantages([2], rules) == [1 / 3]  # (y > 0) [2006 §4.2]


def test_the_full_rules_take_constraints_together():
    # x >= 6 and x <= 6 is x = 6, the smaller of the two; alone, each bound covers it, and it covers neither
    both = Predicates(table("x >= 6 and x <= 6", "x = 6"))
    assert both.advantages([2], "full") == [1 / 3]
    assert both.advantages([2], "pairwise") == [2 / 3]


@both_rules
def test_tags_and_empty_filters_count_as_in_the_language(rules):
    texts = ["#a and exists x", "#a", "#b", "true"]
    expected_alphas = [disjunction_advantage(texts[:count], rules) for count in range(1, 5)]
    assert expected_alphas == [1, 1 / 3, 2 / 4, 0]
    assert Predicates(table(*texts)).advantages([1, 2, 3, 4], rules) == expected_alphas


def test_nothing_to_combine_has_no_advantage():
    assert Predicates(table("true", "x = 1")).advantages([1]) == [1]


@pytest.mark.parametrize("counts", [[0], [2, 1], [1, 4]])
def test_invalid_counts_of_predicates_are_refused(counts):
    with pytest.raises(InputError, match="from 1 to at most 3"):
        Predicates(table("x = 1", "y = 1", "z = 1")).advantages(counts)


@both_rules
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_advantage_of_many_predicates_agrees_with_the_reduction_of_the_language(scenario, rules):
    names, zipf = SCENARIOS[scenario]
    drawn = predicates(Disjunction2006(400, names=min(names, 20), zipf=zipf))  # few names, so that much is covered
    columns = columns_from_arrow(drawn)
    filters = [Predicate([columns.filter(row)]) for row in range(len(columns))]
    counts = [1, 7, 50, 400]
    combined = Predicates(drawn)
    assert len(combined) == 400
    alphas = [disjunction_advantage(filters[:count], rules) for count in counts]
    assert combined.advantages(counts, rules) == pytest.approx(alphas, abs=1e-12)
    assert 1 >= alphas[1] > alphas[-1]


@given(st.integers(0, 2**32), st.integers(2, 60), st.integers(1, 40))
def test_advantage_is_at_most_1_and_full_rules_prove_no_less(seed, names, count):
    combined = Predicates(predicates(Disjunction2006(count, names=names, seed=seed)))
    counts = list(range(1, count + 1))
    full, pairwise = (combined.advantages(counts, rules) for rules in ("full", "pairwise"))
    assert all(0 <= ours <= theirs <= 1 for ours, theirs in zip(full, pairwise, strict=True))


# --- the general model -----------------------------------------------------------------------


def test_the_closed_form_is_the_mean_over_all_predicates():
    # All pairs and triples of two-message predicates over a universe of four.
    sets = [set(chosen) for chosen in combinations(range(4), 2)]
    for count in (1, 2, 3):
        unions = [len(set().union(*chosen)) for chosen in product(sets, repeat=count)]
        assert expected(count, 2, 4) == pytest.approx(np.mean(unions) / (2 * count))
    assert expected(3, 4, 4) == pytest.approx(1 / 3)  # each predicate is the universe


def test_the_closed_form_is_close_to_its_exponential():
    ratio = 2.0
    assert expected(200, 10**4, 10**6) == pytest.approx((1 - np.exp(-ratio)) / ratio, abs=0.002)


def mean_advantage(universe, size, count, reading, runs=4000):
    rng = np.random.default_rng(7)
    alphas = [universe.advantages(size, [count], reading, rng)[0] for _ in range(runs)]
    return np.mean(alphas), 5 * np.std(alphas) / runs**0.5


@pytest.mark.parametrize("distribution", ["uniform", "zipf"])
def test_draws_may_repeat_messages(distribution):
    weights = np.ones(5) if distribution == "uniform" else 1 / np.arange(1, 6)
    shares = weights / weights.sum()
    exact = np.sum(1 - (1 - shares) ** 6) / 6  # a message is in the union if one of nk = 3 * 2 draws is it
    mean, error = mean_advantage(Universe(5, distribution), 2, 3, "draws")
    assert abs(mean - exact) < error


@pytest.mark.parametrize("distribution", ["uniform", "zipf"])
def test_distinct_messages_are_drawn_without_repetition(distribution):
    weights = [1, 1, 1, 1] if distribution == "uniform" else [1, 1 / 2, 1 / 3, 1 / 4]
    chance = {}  # of a predicate of two messages
    for first, second in product(range(4), repeat=2):
        if first != second:
            share = weights[first] / sum(weights) * weights[second] / (sum(weights) - weights[first])
            chance[frozenset({first, second})] = chance.get(frozenset({first, second}), 0) + share
    exact = sum(chance[one] * chance[other] * len(one | other) / 4 for one, other in product(chance, repeat=2))
    mean, error = mean_advantage(Universe(4, distribution), 2, 2, "distinct")
    assert abs(mean - exact) < error
    if distribution == "uniform":
        assert exact == pytest.approx(expected(2, 2, 4))


def test_one_run_gives_the_advantage_of_every_number_of_predicates():
    universe = Universe(1000, "zipf")
    together = universe.advantages(20, [1, 5, 30], "draws", np.random.default_rng(2))
    drawn = universe._draw(np.random.default_rng(2))(30 * 20)
    assert together == [len(set(drawn[: 20 * count])) / (20 * count) for count in (1, 5, 30)]
    assert universe.advantages(20, [1], "distinct", np.random.default_rng(2)) == [1]
    assert Universe(20).advantages(20, [1, 4], "distinct", np.random.default_rng(2)) == [1, 1 / 4]  # all of it


def test_zipf_ranks_equal_those_of_a_binary_search():
    sums = np.cumsum(1 / np.arange(1.0, 20_001))
    points = np.concatenate([[0.0], sums[:-1], np.nextafter(sums, 0), np.nextafter(sums[:-1], 99), sums[:-1] + 1e-9])
    points = points[points < sums[-1]]
    assert np.array_equal(_zipf_ranks(points, sums), np.searchsorted(sums, points, side="right"))


def test_invalid_sizes_are_refused():
    with pytest.raises(InputError, match="at least one message"):
        Universe(0)
    for size in (0, 11):
        with pytest.raises(InputError, match="cannot have"):
            Universe(10).advantages(size, [1], "draws", np.random.default_rng(0))
