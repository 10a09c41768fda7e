"""Times are read as Python's `datetime` reads them, by the language and by the kernel."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import example, given
from hypothesis import strategies as st

from cbnet import parse, witness
from cbnet._kernels.condition_eval import evaluate
from cbnet.language.condition import Comparison, Condition
from cbnet.language.constraint import Op
from cbnet.language.expression import Attribute, Call, Constant
from cbnet.language.timestamps import duration_text, nanoseconds, read_duration, time_text
from cbnet.language.values import canonical
from cbnet.matching.storage.condition_code import encode_condition

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
zones = st.sampled_from([-1439, -60, 0, 330, 1439]).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(timezones=zones)
parts = st.sampled_from(
    ["2026", "-", "11", "-15", "T", " ", "23", ":", "59", ".", "000000001", "Z", "+", "01", "00", "é", "02-30"]
)


def kernel_agrees(text):
    """Return whether the kernel gives the time of the language, or none."""
    time = nanoseconds(text)
    tests = [Comparison(Op.NE, Call("time", Attribute("x")), Constant(None))]
    if time is not None:
        tests.append(Comparison(Op.EQ, Call("time", Attribute("x")), Constant(canonical(time))))
    expected = time is not None
    return all(evaluate(encode_condition(Condition(test)), {"x": text}) == expected for test in tests)


@given(moments, st.sampled_from("Tt "))
@example(datetime(1, 1, 1, tzinfo=UTC), "T")
@example(datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), "T")
@example(datetime(1677, 9, 21, 0, 12, 43, 145224, tzinfo=UTC), "T")
@example(datetime(1677, 9, 21, 0, 12, 43, 145225, tzinfo=UTC), "T")
@example(datetime(2262, 4, 11, 23, 47, 16, 854776, tzinfo=UTC), "T")
def test_a_time_is_the_nanoseconds_since_1970(moment, separator):
    exact = (moment - EPOCH) // timedelta(microseconds=1) * 1000
    text = moment.isoformat(separator)
    assert nanoseconds(text) == (exact if -(2**63) <= exact < 2**63 else float(exact))
    assert kernel_agrees(text)


@given(st.lists(parts, max_size=12).map("".join) | st.text("0123456789-T:.Z+ ", max_size=30))
@example("2026-02-29")
@example("2000-02-29")
@example("1900-02-29")
@example("0000-01-01")
@example("2026-11-15T24:00")
@example("2026-11-15T23:59:60Z")
@example("2026-11-15T23:59:59.1234567890Z")
@example("2026-11-15T23:59:59.Z")
@example("2026-11-15T23:59+24:00")
@example("2026-11-15Z")
@example("2026-11-15T00:00Z\0")
def test_the_kernel_reads_what_the_language_reads(text):
    assert kernel_agrees(text)


@given(st.integers(-(10**20), 3 * 10**20))
def test_the_text_of_a_time_is_read_back(time):
    text = time_text(time)
    if text is not None:
        assert nanoseconds(text) == (time if -(2**63) <= time < 2**63 else float(time))
        assert kernel_agrees(text)


@given(st.integers(-(2**63), 2**63 - 1) | st.integers(-10_000, 10_000).map(lambda count: count * 3_600_000_000_000))
def test_the_text_of_a_duration_is_read_back(value):
    text = duration_text(value)
    assert (text is None) == (value == 0 or value % 10**6 != 0)
    assert text is None or read_duration(text) == value


def test_differences_of_times_are_compared_with_durations():
    predicate = parse("time(delivered) - time(ordered) > 3d")
    order = {"ordered": "2026-11-15T22:00:00+01:00"}
    assert predicate.matches({**order, "delivered": "2026-11-18T21:00:00.000000001Z"})
    assert not predicate.matches({**order, "delivered": "2026-11-18T21:00:00Z"})
    assert not predicate.matches({**order, "delivered": "soon"})
    assert predicate.matches({**order, "delivered": "9999-12-31"})
    assert predicate.matches(witness(predicate))
    assert str(predicate) == "time(delivered) - time(ordered) > 3d"
