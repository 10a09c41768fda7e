import pyarrow as pa
import pytest

from cbnet.language import Message
from cbnet_lab.workload import Forwarding2001, Forwarding2002, as_messages, filters, messages, mix


@pytest.fixture(params=["2002", "2001", "equality"])
def batch(request):
    return messages(mix(request.param, messages=200, seed=3))


def test_a_column_holds_one_name_and_type(batch):
    columns = [(field.name, str(field.type)) for field in batch.schema]
    assert len(set(columns)) == len(columns)
    assert {type for _, type in columns} <= {"string", "int64", "bool"}
    assert [name for name, _ in columns] == sorted(name for name, _ in columns)
    assert all(column.null_count < 200 for column in batch.columns)
    batch.validate(full=True)


def test_names_in_a_message_are_distinct(batch):
    for row in range(batch.num_rows):
        present = [name for name, column in zip(batch.schema.names, batch.columns, strict=True) if column[row].is_valid]
        assert len(set(present)) == len(present)


def test_the_batch_and_the_plain_messages_are_the_same(batch):
    plain = as_messages(batch)
    expected = [
        {
            name: column[row].as_py()
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
            if column[row].is_valid
        }
        for row in range(batch.num_rows)
    ]
    assert plain == expected
    assert [Message.from_dict(message).to_dict() for message in plain] == plain


def test_one_name_may_have_values_of_several_types():
    batch = messages(Forwarding2001(N=200, A=3, AN=(3, 3)))
    assert batch.num_columns == 9
    assert len(set(batch.schema.names)) == 3


def test_tags_become_the_reserved_key():
    tags = pa.array([["a", "b"], None], pa.list_(pa.string()))
    batch = pa.RecordBatch.from_arrays([pa.array([None, 4]), tags], ["x", "#"])
    assert as_messages(batch) == [{"#": ["a", "b"]}, {"x": 4}]


@pytest.mark.parametrize("draw", [filters, messages])
@pytest.mark.parametrize("name", ["2002", "2001", "equality"])
def test_the_seed_decides_filters_and_messages(name, draw):
    assert draw(mix(name, filters=50, messages=20, seed=3)) == draw(mix(name, filters=50, messages=20, seed=3))
    assert draw(mix(name, filters=50, messages=20, seed=3)) != draw(mix(name, filters=50, messages=20, seed=4))


def test_another_number_of_filters_leaves_the_messages_as_they_are():
    assert messages(Forwarding2002(f_h=10)) == messages(Forwarding2002(f_h=20))


def test_a_message_may_have_all_names():
    said = Forwarding2002(M=5, a_l=8, a_h=9, names=8)
    assert [set(message) for message in as_messages(messages(said))] == [set(said.scenario().names)] * 5
