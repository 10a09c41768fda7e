from dataclasses import replace

import numpy as np
import pyarrow.compute as pc
import pytest

from cbnet.errors import InputError
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet_lab.workload import SCENARIOS, Disjunction2006, predicates

P = 40_000


@pytest.fixture(scope="module")
def table():
    return predicates(Disjunction2006(P, names=500, seed=3))


def operators(table, column):
    counts = pc.value_counts(table.filter(pc.is_valid(table[column]))["op"].combine_chunks())
    return {str(count["values"]): count["counts"].as_py() for count in counts}


def name_counts(table, names=500):
    return np.bincount(table["name"].combine_chunks().indices, minlength=names)


def test_the_scenarios_are_those_of_the_paper():
    assert SCENARIOS == {
        "zipf-500": (500, 1), "zipf-5000": (5000, 1), "uniform-50": (50, 0), "uniform-500": (500, 0),
    }  # fmt: skip


def test_a_predicate_is_one_filter_of_1_to_6_constraints(table, likely):
    sizes = np.bincount(table["filter"])
    assert table["filter"].equals(table["rule"])
    assert len(sizes) == P
    for size, share in zip(range(1, 7), (0.10, 0.40, 0.30, 0.10, 0.05, 0.05), strict=True):
        assert likely((sizes == size).sum(), P, share)
    assert set(sizes) == {1, 2, 3, 4, 5, 6}


def test_operators_are_drawn_by_type(table, likely):
    strings, integers = operators(table, "string"), operators(table, "int")
    total = sum(strings.values())
    assert likely(strings.pop("="), total, 0.40)
    assert sorted(strings) == ["!=", "$=", "*=", "<", ">", "^="]
    assert all(likely(count, total, 0.10) for count in strings.values())
    total = sum(integers.values())
    assert sorted(integers) == ["!=", "<", "=", ">"]
    for op, share in (("=", 0.40), ("<", 0.25), (">", 0.25), ("!=", 0.10)):
        assert likely(integers[op], total, share)


def test_half_of_the_names_are_for_strings_and_half_for_integers(table):
    names = np.array(table["name"].to_pylist())
    is_string = np.array(table["string"].is_valid())
    assert len(set(names[is_string])) == len(set(names[~is_string])) == 250
    assert not set(names[is_string]) & set(names[~is_string])
    assert np.array_equal(is_string, ~np.array(table["int"].is_valid()))


def test_which_half_is_drawn_anew_for_each_set():
    def string_names(number):
        table = predicates(Disjunction2006(2000, names=10, set=number))
        return frozenset(table.filter(pc.is_valid(table["string"]))["name"].to_pylist())

    assert len({string_names(number) for number in range(20)}) > 5  # of 252 halves


def test_integers_are_uniform_from_minus_100_to_100(table, likely, likely_mean):
    values = table["int"].drop_null().to_numpy()
    assert (values.min(), values.max()) == (-100, 100)
    assert likely_mean(values.mean(), len(values), -100, 100)
    assert all(likely((values == value).sum(), len(values), 1 / 201) for value in (-100, 0, 100))


def test_strings_are_drawn_by_their_counts(tmp_path, likely):
    file = tmp_path / "terms.tsv"
    file.write_text("year\t6\nnet\t3\nbank\t1\n")
    values = predicates(Disjunction2006(5000, terms=file))["string"].drop_null().to_pylist()
    for word, share in (("year", 0.6), ("net", 0.3), ("bank", 0.1)):
        assert likely(values.count(word), len(values), share)


def test_names_are_uniform_or_zipf(table, likely):
    counts = name_counts(table)
    assert all(likely(count, counts.sum(), 1 / 500) for count in counts)
    counts = name_counts(predicates(Disjunction2006(P, names=500, zipf=1)))
    harmonic = 6.792823429990524  # 1 + 1/2 + ... + 1/500
    assert all(likely(counts[place - 1], counts.sum(), 1 / (place * harmonic)) for place in (1, 2, 10, 100, 500))


def test_a_name_may_occur_twice_in_a_filter():
    table = predicates(Disjunction2006(1000, names=50))
    pairs = list(zip(table["filter"].to_pylist(), table["name"].to_pylist(), strict=True))
    assert len(set(pairs)) < len(pairs)


def test_the_same_seed_and_set_give_the_same_predicates():
    said = Disjunction2006(100, seed=1, set=2)
    assert predicates(said).equals(predicates(said))
    for other in (replace(said, seed=2), replace(said, set=1), replace(said, seed=2, set=1)):
        assert not predicates(said).equals(predicates(other))


def test_a_matcher_takes_the_table(table):
    assert len(columns_from_arrow(table)) == P


@pytest.mark.parametrize(
    "wrong",
    [
        {"predicates": 0},
        {"names": 1},
        {"zipf": -1.0},
        {"seed": -1},
        {"set": -1},
    ],
)
def test_parameters_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InputError):
        Disjunction2006(**wrong)
