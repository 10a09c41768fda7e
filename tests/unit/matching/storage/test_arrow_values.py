"""Values of Arrow columns: every type gives what the same Python value gives."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from cbnet.language.values import validate_value
from cbnet.matching.storage.arrow_values import plain_values

NOON = datetime(2026, 11, 15, 12, 30, 1, 250_000)
TIMES = [NOON, None, datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59), datetime(1969, 12, 31)]
ROME = timezone(timedelta(hours=1))


def values(column):
    """Return the values of a column; None where there is none."""
    arrays = [array.to_pylist() for array in plain_values(column).arrays] or [[None] * len(column)]
    return [next((value for value in row if value is not None), None) for row in zip(*arrays, strict=True)]


def expected(cells):
    return [None if cell is None else validate_value(cell, "x") for cell in cells]


COLUMNS = [
    *(pa.array([0, 1, None, 127], type) for type in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint64())),
    *(pa.array([0.5, None, -2.0], type) for type in (pa.float16(), pa.float32(), pa.float64())),
    pa.array([True, None, False]),
    *(pa.array(["", None, "é€😀"], type) for type in (pa.string(), pa.large_string(), pa.string_view())),
    pa.array([date(1, 1, 1), None, date(2026, 11, 15), date(9999, 12, 31)]),
    pa.array([date(2026, 11, 15), None], pa.date64()),
    pa.array(TIMES, pa.timestamp("us")),
    pa.array([NOON.replace(tzinfo=ROME), None], pa.timestamp("us", "Europe/Rome")),
    pa.array([NOON.replace(tzinfo=UTC)], pa.timestamp("ms", "UTC")),
    pa.array([NOON.replace(microsecond=0)], pa.timestamp("s")),
    pa.array([Decimal("1.50"), None, Decimal("-0.07"), Decimal("3.00")]),
    pa.array([Decimal("0.1"), Decimal("123456789012.345")], pa.decimal128(15, 3)),
    pa.array([Decimal("0.1"), Decimal("9007199254740993"), None], pa.decimal128(38, 6)),
    pa.array([Decimal(2**63 - 1), None, Decimal(-(2**63)), Decimal(7)], pa.decimal128(38, 0)),
    pa.array([Decimal(2**63), Decimal(2**63 - 1), Decimal(-(2**63))], pa.decimal128(38, 1)),
    pa.array([Decimal(n).scaleb(-2) for n in (2**53, 2**53 + 1, -(2**53), -(2**53) - 1, 7)], pa.decimal128(18, 2)),
    pa.array([Decimal(2**64 + 1), Decimal(-(2**64) + 1), None, Decimal(2**127 // 100)], pa.decimal128(38, 1)),
    pa.array([Decimal(f"{n}e-22") for n in (1, 3, 2**53 - 1)], pa.decimal128(38, 22)),
    pa.array([Decimal("1e-30"), Decimal("2.5")], pa.decimal128(38, 30)),
    pa.array([Decimal("1e40"), Decimal("0.3")], pa.decimal256(60, 10)),
    pa.array([Decimal("1.5"), None], pa.decimal32(5, 2)),
    pa.array([Decimal("1.5"), None], pa.decimal64(12, 2)),
    pa.nulls(3),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: str(column.type))
def test_a_column_has_the_values_of_its_python_objects(column):
    assert values(column) == expected(column.to_pylist())
    assert values(column[1:]) == expected(column.to_pylist()[1:])
    if "decimal32" not in str(column.type) and "decimal64" not in str(column.type):
        assert values(column.dictionary_encode()) == expected(column.to_pylist())


@pytest.mark.parametrize("type", [pa.decimal128(20, 0), pa.decimal256(50, 0)])
def test_a_decimal_without_a_fraction_is_an_int_of_64_bits(type):
    found = plain_values(pa.array([Decimal(2**63 - 1), Decimal(2**63), None, Decimal(-(2**63) - 1), Decimal(1)], type))
    assert found.arrays[0].to_pylist() == [2**63 - 1, None, None, None, 1]
    assert (found.invalid.tolist(), found.problem[:41]) == ([1, 3], "the integer does not fit in 64 bits (-922")


def test_nanoseconds_are_kept():
    (time,) = values(pa.array([1_000_000_007], pa.timestamp("ns")))
    assert time == "1970-01-01T00:00:01.000000007Z"


def test_runs_are_expanded():
    assert values(pc.run_end_encode(pa.array(["a", "a", None, "b"]))) == ["a", "a", None, "b"]


def test_a_decimal_is_the_nearest_float_or_the_int_that_it_equals():
    (large, half, integer) = values(
        pa.array(["12345678901234567.89", "0.5", "9007199254740993"]).cast(pa.decimal128(20, 2))
    )
    assert (large, half, integer) == (float("12345678901234567.89"), 0.5, 2**53 + 1)
    assert isinstance(integer, int)
