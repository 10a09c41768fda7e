import math

import pytest

from cbnet_lab.experiments.curves import (
    as_table,
    duration,
    falls_below,
    format_number,
    last_decade,
    medians,
    ratio,
    slope,
    summary,
)


def test_slope_of_a_power_is_its_exponent():
    assert slope({x: 3 * x**0.7 for x in (1, 10, 500, 4000)}) == pytest.approx(0.7)
    assert slope(dict.fromkeys((1, 2, 3), 5.0)) == pytest.approx(0)
    assert math.isnan(slope({7: 1.0}))


def test_last_decade_starts_at_a_tenth_of_the_largest():
    assert last_decade({1: 0.0, 99: 0.0, 100: 0.0, 1000: 0.0}) == {100: 0.0, 1000: 0.0}


def test_curve_falls_below_a_level_where_it_stays_below():
    assert falls_below({1: 0.9, 2: 0.4, 3: 0.6, 5: 0.4}, 0.5) == pytest.approx(4)  # halfway from 3 to 5
    assert falls_below({1: 0.4, 2: 0.3}, 0.5) == 1
    assert falls_below({1: 0.9, 2: 0.5}, 0.5) is None


def test_ratios_are_taken_turn_by_turn():
    # the machine is ten times slower in the second turn, for both methods
    times = {("a", 0): 2.0, ("b", 0): 1.0, ("a", 1): 20.0, ("b", 1): 10.0}
    rows = [{"method": method, "turn": turn, "us": us} for (method, turn), us in times.items()]
    assert ratio(rows, "a", "b") == {"middle": 2.0, "low": 2.0, "high": 2.0}


def test_summary_has_a_row_per_group():
    rows = [{"method": method, "x": 1, "us": float(us)} for method in "ab" for us in (1, 2, 3)]
    assert summary(rows, "method", "x").to_pylist() == [
        {"method": method, "x": 1, "us": 2.0, "low": pytest.approx(1.2), "high": pytest.approx(2.8)} for method in "ab"
    ]
    assert medians(rows, "x") == {1: 2.0}
    assert as_table(rows).num_rows == 6


def test_numbers_and_durations_are_formatted_with_units():
    assert [format_number(number) for number in (1234.5, 7, 0.1234)] == ["1,234", "7", "0.123"]
    assert [duration(us) for us in (0.5, 1500, 2e6)] == ["0.5 µs", "1.5 ms", "2 s"]
