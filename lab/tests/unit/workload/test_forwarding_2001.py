import numpy as np
import pytest

from cbnet_lab.workload import Forwarding2001, as_messages, filters, messages

F = 60_000


@pytest.fixture(scope="module")
def rows():
    return filters(Forwarding2001(F=F, seed=5)).to_pylist()


@pytest.fixture(scope="module")
def sent():
    return as_messages(messages(Forwarding2001(N=5000, seed=5)))


def test_the_defaults_are_those_of_the_paper():
    said = Forwarding2001()
    assert (said.N, said.AN, said.CN, said.DT) == (1000, (3, 10), (1, 5), (40, 40, 20))


def test_constraints_per_filter_are_uniform_from_1_to_5(rows, likely):
    sizes = np.bincount([row["filter"] for row in rows])
    assert (len(sizes), sizes.min(), sizes.max()) == (F, 1, 5)
    assert all(likely((sizes == size).sum(), F, 1 / 5) for size in range(1, 6))


def test_attributes_per_message_are_uniform_from_3_to_10(sent, likely):
    sizes = [len(message) for message in sent]
    assert (min(sizes), max(sizes)) == (3, 10)
    assert all(likely(sizes.count(size), len(sent), 1 / 8) for size in range(3, 11))


def test_names_are_uniform(rows, sent, likely):
    asked = [row["name"] for row in rows]
    assert len(set(asked)) == 100
    assert all(likely(asked.count(name), len(asked), 0.01) for name in set(asked))
    assert {name for message in sent for name in message} == set(asked)


@pytest.mark.parametrize(("column", "share"), [("string", 0.4), ("int", 0.4), ("bool", 0.2)])
def test_types_have_their_shares(rows, likely, column, share):
    assert likely(sum(row[column] is not None for row in rows), len(rows), share)


def test_types_of_attributes_have_their_shares(sent, likely):
    types = [type(value) for message in sent for value in message.values()]
    assert all(likely(types.count(kind), len(types), share) for kind, share in ((str, 0.4), (int, 0.4), (bool, 0.2)))


@pytest.mark.parametrize("column", ["string", "int"])
def test_operators_on_strings_and_integers_have_their_shares(rows, likely, column):
    ops = [row["op"] for row in rows if row[column] is not None]
    assert set(ops) == {"=", "<", ">"}
    assert all(likely(ops.count(op), len(ops), share) for op, share in (("=", 0.6), ("<", 0.2), (">", 0.2)))


def test_bools_are_compared_with_equality_only_and_are_true_half_of_the_time(rows, likely):
    bools = [row for row in rows if row["bool"] is not None]
    assert {row["op"] for row in bools} == {"="}
    assert likely(sum(row["bool"] for row in bools), len(bools), 0.5)


def test_the_probability_of_a_value_falls_linearly_with_its_rank(rows, likely):
    integers = np.array([row["int"] for row in rows if row["int"] is not None])
    # With 100 values, rank r has probability (199 - 2r) / 10000.
    for value in (0, 1, 50, 98, 99):
        assert likely((integers == value).sum(), len(integers), (199 - 2 * value) / 10_000)
    assert set(integers) <= set(range(100))


def test_bounds_of_the_ranges_are_parameters():
    said = Forwarding2001(F=200, I=200, AN=(2, 2), CN=(3, 3), A=2, SV=1, IV=1, N=50)
    table = filters(said)
    assert table.num_rows == 600
    assert set(table["int"].drop_null().to_pylist()) == {0}
    assert all(message.keys() == set(said.scenario().names) for message in as_messages(messages(said)))
