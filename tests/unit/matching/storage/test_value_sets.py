"""Sets of constants: stored once, found by their members, kept by merges."""

import numpy as np
import pytest

from cbnet import Table, parse
from cbnet.language.values import ValueType
from cbnet.matching import LiveTable
from cbnet.matching.storage.columns import columns_of
from cbnet.matching.storage.merge import merge_columns
from cbnet.matching.storage.reduction import find_coverers
from cbnet.matching.storage.value_sets import member_index, pack_sets


def test_equal_sets_are_stored_once_in_order_of_size_and_members():
    columns = columns_of({1: parse('x in ("b", 7, "a") or y in (7, "a", "b") or z in (true, null)')})
    # Numbers: 7. Strings: a, b. In a set bools come before numbers, strings and null.
    assert [columns.sets[number] for number in range(len(columns.sets))] == [
        [(ValueType.BOOL, 1), (ValueType.NULL, 0)],
        [(ValueType.NUMBER, 0), (ValueType.STRING, 0), (ValueType.STRING, 1)],
    ]


def test_true_and_1_are_different_members():
    columns = columns_of({1: parse("x in (true, 2)"), 2: parse("x in (1, 2)")})
    assert len(columns.sets) == 2
    table = LiveTable()
    assert table.add(1, parse("x in (true, 2)").filters[0])
    assert table.add(1, parse("x in (1, 2)").filters[0])


def test_members_lead_to_the_sets_that_contain_them():
    sets, numbers = pack_sets([np.array(members, np.uint64) for members in ([1, 2], [2, 3, 4], [1, 2], [2])])
    assert numbers.tolist() == [1, 2, 1, 0]
    words = np.array([5 << 38 | 20 << 32 | 1, 5 << 38 | 20 << 32 | 2, 6 << 38 | 9 << 32 | 0], np.uint64)
    index = member_index(words, sets)
    assert index["member_keys"].tolist() == [5 << 38 | member for member in (1, 2, 3, 4)]
    assert index["member_offsets"].tolist() == [0, 1, 3, 4, 5]
    assert index["member_sets"].tolist() == [1, 1, 2, 2, 2]


def test_merged_tables_keep_their_sets_and_conditions():
    first = {1: parse('x in (5, "a") and y < z'), 2: parse("x in (1, 9)")}
    second = {1: parse('x in (1, 5, "a") or x in (5, "a")'), 2: parse("not #t and absent z or y < z")}
    parts = [columns_of(first), columns_of(second)]
    merged = merge_columns(parts, [1, 2])
    found = sorted((int(target), merged.filter(row)) for row, target in enumerate(merged.targets))
    expected = [(target, f) for part in (first, second) for target, key in enumerate(part) for f in part[key].filters]
    assert found == sorted(expected)
    assert (len(merged.sets), len(merged.conditions)) == (3, 3)


# wide, narrow, whether every message of the narrow filter matches the wide one
COVERING = [
    ("x in (1, 2)", "x = 1", True),
    ("x in (1, 2)", "x = 3", False),
    ('x in (1, "a")', 'x = "a"', True),
    ("x in (true, 2)", "x = 1", False),
    ("x in (true, 2)", "x = true", True),
    ("x in (null, 2)", "x = null", True),
    ("x in (1, 2, 3)", "x in (1, 3)", True),
    ("x in (1, 2, 3)", "x in (1, 4)", False),
    ("x in (1, 2)", "x > 0", False),
    ("x != null", "x < 5", True),
    ("x != null", 'x ^= "a"', True),
    ("x != null", "x = true", True),
    ("x != null", "x in (1, 2)", True),
    ("x != null", "x in (1, null)", False),
    ("x != null", "x = null", False),
    ("x != null", "exists x", False),
    ("exists x", "x = null", True),
    ("exists x", "x in (1, null)", True),
    ("exists x", "x != null", True),
    ("x < y", "x < y and z = 1", True),
    ("x < y and z = 1", "x < y", False),
    ("absent x", "absent x and z = 1", True),
    ("absent x", "z = 1", False),
    ("z = 1", "z = 1 and absent x", True),
]


@pytest.mark.parametrize(("wide", "narrow", "covers"), COVERING)
def test_reduction_knows_sets_nulls_and_conditions(wide, narrow, covers):
    columns = columns_of({1: parse(f"{wide} or {narrow}")})
    coverers = find_coverers(columns).tolist()
    rows = {str(columns.filter(row)): row for row in range(len(columns))}
    assert (coverers[rows[str(parse(narrow))]] == rows[str(parse(wide))]) == covers


def test_a_live_table_finds_its_sets_and_conditions():
    text = 'x in (1, "a", null) and y in (2, 3) or x < y and #t or y in (2, 3)'
    table = LiveTable(Table.build({1: text}))
    for filter in parse(text).filters:
        assert not table.add(1, filter)
        assert table.remove(1, filter)
        assert not table.remove(1, filter)
    assert table.filters(1) == set()
