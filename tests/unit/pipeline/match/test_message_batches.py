from datetime import UTC, date, datetime

import pyarrow as pa

from cbnet.pipeline.match.message_batches import messages_of
from cbnet.pipeline.match.message_columns import Attribute


def messages(kind, column):
    found = messages_of([column], [Attribute("x", ("x",), "", kind)], len(column))
    return found.batch.column(0).to_pylist(), None if found.rows is None else found.rows.tolist(), found.rejected


def test_times_are_texts_in_order_and_every_prefix_is_a_bound():
    times = [
        datetime(1, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 5, 1), None,
        datetime(2024, 5, 1, 0, 0, 0, 1), datetime(9999, 12, 31, 23, 59, 59, 999999),
    ]  # fmt: skip
    texts, rows, _ = messages("time", pa.array(times, pa.timestamp("us")))
    assert rows is None
    assert texts == [time and time.isoformat(timespec="microseconds") for time in times]
    there = [text for text in texts if text]
    assert there == sorted(there)
    assert there[1] < "2024-05" < there[2]


def test_times_with_a_zone_are_in_utc():
    column = pa.array([datetime(2024, 5, 1, 10, tzinfo=UTC)], pa.timestamp("us", "America/New_York"))
    assert messages("time", column)[0] == ["2024-05-01T10:00:00.000000"]


def test_dates_are_texts():
    assert messages("date", pa.array([date(2024, 5, 1), None, date(1, 1, 1)]))[0] == ["2024-05-01", None, "0001-01-01"]


def test_years_without_four_digits_are_rejected():
    dates = pa.array([-719163, -719162, 2932896, 2932897], pa.int32()).cast(pa.date32())  # 1 BC, 1, 9999, 10000
    texts, rows, rejected = messages("date", dates)
    assert (texts, rows, dict(rejected)) == (
        ["0001-01-01", "9999-12-31"],
        [1, 2],
        {"x is not in the years 1 to 9999": 2},
    )
    times = pa.array([253402300800000000, 0], pa.int64()).cast(pa.timestamp("us"))
    assert messages("time", times)[1] == [1]


def test_nan_and_infinity_are_rejected_and_null_is_not():
    column = pa.array([1.0, float("nan"), None, float("inf"), float("-inf"), 2.0])
    assert messages("float", column) == ([1.0, None, 2.0], [0, 2, 5], {"x is NaN or infinite": 3})
    assert messages("float", pa.array([1.0, None])) == ([1.0, None], None, {})


def test_row_is_rejected_once_with_the_first_reason():
    columns = [pa.array([float("nan"), 1.0]), pa.array([float("nan"), float("nan")])]
    attributes = [Attribute(name, (name,), "", "float") for name in "xy"]
    found = messages_of(columns, attributes, 2)
    assert found.rejected == {"x is NaN or infinite": 1, "y is NaN or infinite": 1}
    assert found.batch.num_rows == 0


def test_text_that_is_not_utf8_is_rejected():
    text = pa.array([b"a", b"\xff", None, "é".encode()], pa.binary()).cast(pa.string(), safe=False)
    broken = pa.Array.from_buffers(pa.string(), 4, text.buffers()) if text.type != pa.string() else text
    assert messages("string", broken) == (["a", None, "é"], [0, 2, 3], {"x is not UTF-8": 1})


def test_tags_that_are_not_utf8_are_rejected():
    values = pa.array([b"a", b"\xff", b"b"], pa.binary())
    strings = pa.Array.from_buffers(pa.string(), 3, values.buffers())
    column = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3]), strings)
    assert messages("tags", column)[1:] == ([0, 2], {"x is not UTF-8": 1})


def test_rows_are_counted_even_without_columns():
    assert messages_of([], [], 3).batch.num_rows == 3
