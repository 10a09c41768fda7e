"""Nested Arrow columns: the matches of a row are those of the message with its cells, by the reference."""

import random

import pyarrow as pa
import pytest
from support.seeds import seeds

from cbnet import Message, Table, parse
from cbnet.errors import InputError
from cbnet.matching import reference

ITEM = pa.struct([("sku", pa.string()), ("n", pa.list_(pa.int64())), ("at", pa.struct([("x", pa.int64())]))])
TYPES = {
    "scalar": pa.int64(),
    "struct": pa.struct([("x", pa.int64()), ("in", pa.struct([("x", pa.string())]))]),
    "list": pa.list_(pa.int64()),
    "large list": pa.large_list(pa.string()),
    "view": pa.list_view(pa.int64()),
    "fixed": pa.list_(pa.int64(), 2),
    "elements": pa.list_(ITEM),
    "lists of lists": pa.list_(pa.list_(pa.int64())),
    "lists of elements": pa.list_(pa.list_(ITEM)),
    "nested elements": pa.list_(pa.struct([("id", pa.int64()), ("items", pa.list_(ITEM))])),
    "map": pa.map_(pa.string(), pa.int64()),
    "map of structs": pa.map_(pa.string(), pa.struct([("x", pa.int64())])),
    "map of lists": pa.map_(pa.string(), pa.list_(pa.int64())),
    "map of elements": pa.map_(pa.string(), pa.list_(ITEM)),
    "list of maps": pa.list_(pa.map_(pa.string(), pa.int64())),
}
NAMES = [
    "a", "a.x", "a.in.x", "a.sku", "a.n", "a.at.x", "a.id", "a.items.sku", "a.items.n", "a.items.at.x", "a.k", "a.l",
    "a.k.x", "a.k.sku", "a.k.n", "a.in", "b", "b.x", "a.b", "a.b.sku", "a.b.n",
]  # fmt: skip


def cell(type, rng):
    """Return a random cell; small domains, so that filters match often."""
    if rng.random() < 0.15:
        return None
    if pa.types.is_struct(type):
        return {field.name: cell(field.type, rng) for field in type}
    if pa.types.is_map(type):
        return [(key, cell(type.item_type, rng)) for key in rng.sample("klm", rng.randrange(3))]
    if hasattr(type, "value_type"):
        count = type.list_size if pa.types.is_fixed_size_list(type) else rng.randrange(4)
        return [cell(type.value_type, rng) for _ in range(count)]
    return rng.randrange(3) if type == pa.int64() else rng.choice("pqr")


def predicate(rng):
    constraints = []
    for name in rng.sample(NAMES, rng.randint(1, 3)):
        for _ in range(rng.choice((1, 1, 2))):
            op = rng.choice(["=", "!=", ">=", "<="])
            value = rng.choice([str(rng.randrange(3)), f'"{rng.choice("pqr")}"'])
            constraints.append(rng.choice([f"{name} {op} {value}"] * 6 + [f"exists {name}", f"absent {name}"]))
    return " and ".join(constraints)


def without_nulls(value):
    if isinstance(value, dict):
        return {name: without_nulls(member) for name, member in value.items() if member is not None}
    return [without_nulls(item) for item in value if item is not None] if isinstance(value, list) else value


def messages(batch):
    """Return the rows as messages: null is absent, a map is an object."""
    return [Message(without_nulls(row)) for row in batch.to_pylist(maps_as_pydicts="strict")]


def check(columns, seed, rows=40):
    rng = random.Random(seed)
    predicates = {number: parse(predicate(rng)) for number in range(150)}
    table = Table.build(predicates)
    cells = {name: pa.array([cell(type, rng) for _ in range(rows)], type) for name, type in columns.items()}
    batch = pa.RecordBatch.from_pydict(cells)
    for part in (batch, batch.slice(7, 20)):
        expected = [reference.match(predicates, message) for message in messages(part)]
        assert table.match_frame(part).to_pylist() == expected
        assert table.match_many(messages(part)) == expected
    return sum(map(len, expected))


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("name", TYPES)
def test_a_column_of_every_nested_type(name, seed):
    assert check({"a": TYPES[name], "b": pa.int64()}, seed)


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("other", ["scalar", "struct", "list", "elements", "map", "lists of elements"])
@pytest.mark.parametrize(
    "name", ["scalar", "struct", "elements", "nested elements", "lists of elements", "map of elements"]
)
def test_a_dotted_name_is_merged_with_a_nested_column(name, other, seed):
    check({"a": TYPES[name], "a.b": TYPES[other], "a.k": TYPES["scalar"]}, seed)


@pytest.mark.parametrize("seed", seeds(4))
def test_random_columns(seed):
    rng = random.Random(seed)
    names = rng.sample(["a", "b", "a.items", "a.b", "a.k", "a.at"], rng.randint(2, 5))
    check({name: TYPES[rng.choice([*TYPES])] for name in names}, seed)


def test_several_columns_of_one_name_are_several_values():
    columns = [pa.array([1, 1, None]), pa.array([2, None, 2]), pa.array([["x", None], None, []])]
    table = Table.build({"one": "a = 1", "two": "a = 2", "x": 'a = "x"', "both": "a > 1 and a < 2"})
    found = table.match_frame(pa.RecordBatch.from_arrays(columns, ["a", "a", "a"]))
    assert found.to_pylist() == [["one", "two", "x"], ["one"], ["two"]]


def test_constraints_below_an_array_hold_within_one_element():
    items = pa.array([[{"sku": "p", "n": 1}, {"sku": "q", "n": 2}], [{"sku": "p", "n": 2}], None])
    table = Table.build({"p2": 'items.sku = "p" and items.n = 2', "p": 'items.sku = "p"'})
    assert table.match_frame(pa.table({"items": items})).to_pylist() == [["p"], ["p2", "p"], []]


def test_a_repeated_key_of_a_map_gives_several_values():
    labels = pa.MapArray.from_arrays([0, 2, 3], ["k", "k", "l"], [1, 2, 3])
    table = Table.build({"one": "labels.k = 1", "two": "labels.k = 2", "three": "labels.l = 3"})
    assert table.match_frame(pa.table({"labels": labels})).to_pylist() == [["one", "two"], ["three"]]


def test_encoded_and_extension_columns_are_read():
    uuid = pa.ExtensionArray.from_storage(pa.opaque(pa.list_(pa.int64()), "t", "v"), pa.array([[1, 2], [3]]))
    table = Table.build({"two": "a = 2", "on": 'd.state = "on"'})
    states = pa.array([{"state": "on"}, {"state": "off"}])
    runs = pa.RunEndEncodedArray.from_arrays([1, 2], states)
    assert table.match_frame(pa.table({"a": uuid, "d": runs})).to_pylist() == [["two", "on"], []]


def test_an_invalid_value_in_a_list_names_its_row():
    table = Table.build({"a": "a.x = 1"})
    column = pa.array([[{"x": 1.0}], [], [{"x": 2.0}, {"x": float("nan")}]])
    with pytest.raises(InputError, match=r"row 3, column 'a\.x': NaN and infinity are not values"):
        table.match_frame(pa.table({"a": column}))
    unused = pa.array([[{"y": float("nan")}]])
    assert table.match_frame(pa.table({"a": unused})).to_pylist() == [[]]


def test_columns_nested_too_deep_are_refused_if_they_are_used():
    def nested(levels, wrap):
        type, value = pa.int64(), 1
        for _ in range(levels):
            type, value = wrap(type, value)
        return pa.table({"a": pa.array([value], type)})

    def in_struct(type, value):
        return pa.struct([("a", type)]), {"a": value}

    def in_list(type, value):
        return pa.list_(type), [value]

    for wrap, name in ((in_struct, ".".join(["a"] * 64)), (in_list, "a")):
        table = Table.build({"deep": f"{name} = 1"})  # 63 levels below the message, which is the first one
        assert table.match_frame(nested(63, wrap)).to_pylist() == [["deep"]]
        assert table.match(nested(63, wrap).to_pylist()[0]) == ["deep"]
        deeper = Table.build({"deep": f"{name}.a = 1" if wrap is in_struct else f"{name} = 1"})
        with pytest.raises(InputError, match="nested deeper than 64 levels"):
            deeper.match_frame(nested(64, wrap))
        with pytest.raises(InputError, match="nested deeper than 64 levels"):
            deeper.match(nested(64, wrap).to_pylist()[0])
        assert Table.build({"other": "b = 1"}).match_frame(nested(64, wrap)).to_pylist() == [[]]
