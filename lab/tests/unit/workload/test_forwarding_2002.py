import numpy as np
import pyarrow.compute as pc
import pytest

from cbnet_lab.workload import Forwarding2002, as_messages, filters, messages
from cbnet_lab.workload.forwarding import equality

F = 60_000


@pytest.fixture(scope="module")
def table():
    return filters(Forwarding2002(F=F, I=20, seed=5))


@pytest.fixture(scope="module")
def batch():
    return messages(Forwarding2002(M=3000, seed=5))


def operators(table, column):
    counts = pc.value_counts(table.filter(pc.is_valid(table[column]))["op"].combine_chunks())
    return {str(count["values"]): count["counts"].as_py() for count in counts}


def test_the_defaults_are_those_of_the_paper():
    said = Forwarding2002()
    assert (said.M, said.a_l, said.a_h, said.f_l, said.c_l, said.c_h) == (100, 1, 19, 1, 1, 10)
    assert (said.names, said.strings, said.integers, said.D_t) == (1000, 1000, 100, (50, 50))


def test_constraints_per_filter_are_uniform_from_1_to_9(table, likely, likely_mean):
    sizes = np.bincount(table["filter"])
    assert (len(sizes), sizes.min(), sizes.max()) == (F, 1, 9)
    assert likely_mean(sizes.mean(), F, 1, 9)  # 5
    assert all(likely((sizes == size).sum(), F, 1 / 9) for size in range(1, 10))


def test_names_are_zipf(table, likely):
    counts = np.bincount(table["name"].combine_chunks().indices, minlength=1000)
    harmonic = 7.485470860550345  # 1 + 1/2 + ... + 1/1000
    for place in (1, 2, 10, 100, 1000):
        assert likely(counts[place - 1], counts.sum(), 1 / (place * harmonic))
    slope, _ = np.polyfit(np.log(np.arange(1, 101)), np.log(counts[:100]), 1)
    assert abs(slope + 1) < 0.03


def test_the_exponent_of_zipf_is_a_parameter(likely):
    table = filters(Forwarding2002(F=F, names=2, a_h=2, zipf=2.0))  # weights 1, 1/4
    counts = np.bincount(table["name"].combine_chunks().indices)
    assert likely(counts[0], counts.sum(), 4 / 5)


def test_half_of_the_constraints_are_on_strings_and_half_on_integers(table, likely):
    rows = table.num_rows
    assert likely(rows - table["string"].null_count, rows, 0.5)
    assert table["string"].null_count + table["int"].null_count == rows


@pytest.mark.parametrize(
    ("column", "shares"),
    [
        ("int", {"=": 0.6, "<": 0.2, ">": 0.2}),
        ("string", {"=": 0.35, "^=": 0.15, "$=": 0.15, "*=": 0.15, "<": 0.1, ">": 0.1}),
    ],
)
def test_operators_have_their_shares(table, likely, column, shares):
    counts = operators(table, column)
    assert counts.keys() == shares.keys()
    assert all(likely(counts[op], sum(counts.values()), share) for op, share in shares.items())


def test_values_are_uniform(table, likely):
    integers = table["int"].drop_null().to_numpy()
    assert all(likely((integers == value).sum(), len(integers), 0.01) for value in range(100))
    words = np.bincount(table["string"].combine_chunks().indices.drop_null())
    assert len(words) == 1000
    assert all(likely(count, words.sum(), 0.001) for count in words)


def test_attributes_per_message_are_uniform_from_1_to_18(batch, likely_mean):
    sizes = np.array([len(message) for message in as_messages(batch)])
    assert (sizes.min(), sizes.max()) == (1, 18)
    assert likely_mean(sizes.mean(), 3000, 1, 18)  # 9.5; the paper rounds to 10


def test_attributes_are_half_strings_and_half_integers(batch, likely):
    values = [value for message in as_messages(batch) for value in message.values()]
    assert likely(sum(isinstance(value, str) for value in values), len(values), 0.5)
    assert {type(value) for value in values} == {str, int}


def test_messages_of_one_attribute_have_zipf_names(likely):
    said = Forwarding2002(M=20_000, a_h=2, names=3)  # weights 6, 3, 2
    names = [next(iter(message)) for message in as_messages(messages(said))]
    for name, share in zip(said.scenario().names, (6 / 11, 3 / 11, 2 / 11), strict=True):
        assert likely(names.count(name), 20_000, share)


def test_filters_and_messages_share_names_and_values(table, batch):
    names = set(table["name"].combine_chunks().dictionary.to_pylist())
    strings = set(table["string"].combine_chunks().dictionary.to_pylist())
    sent = as_messages(batch)
    values = {value for message in sent for value in message.values()}
    assert {name for message in sent for name in message} <= names
    assert {value for value in values if isinstance(value, str)} <= strings
    assert {value for value in values if isinstance(value, int)} == set(range(100))


def test_the_size_of_the_table_follows_the_formula():
    # Claim 28: C ≈ I · f̄ · c̄, with f̄ = (1 + 40 - 1) / 2 = 20 and c̄ = (1 + 10 - 1) / 2 = 5.
    table = filters(Forwarding2002(I=2000, f_h=40))
    _, first_row = np.unique(table["filter"], return_index=True)
    per_interface = np.bincount(table["rule"].to_numpy()[first_row])
    assert (len(per_interface), per_interface.min(), per_interface.max()) == (2000, 1, 39)
    # Five standard deviations: of F, 11.25 · √2000 = 503; of C, √(2000 · 20 · 6.67 + 25 · 503²) = 2568.
    assert abs(per_interface.sum() - 2000 * 20) < 5 * 503
    assert abs(table.num_rows - 2000 * 20 * 5) < 5 * 2568


def test_the_equality_mix_differs_in_its_operators_only():
    table, usual = filters(equality(F=1000, I=10, seed=5)), filters(Forwarding2002(F=1000, I=10, seed=5))
    assert set(table["op"].to_pylist()) == {"="}
    assert table.drop_columns("op") == usual.drop_columns("op")
    assert messages(equality(seed=5)) == messages(Forwarding2002(seed=5))
