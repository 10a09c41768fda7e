"""Time here never runs back, and never far ahead at once."""

from cbnet.network.link.context import Clock


def test_steps_count_as_they_are_unless_they_are_jumps():
    clock = Clock(1.0)
    times = []
    for told in (100.0, 100.25, 100.5, 50.0, 50.25, 9_000.0, 9_000.25):
        clock.advance(told)
        times.append(clock.now)
    assert times == [0.0, 0.25, 0.5, 0.5, 0.75, 1.75, 2.0]


def test_elapsed_counts_long_steps_in_full_and_never_runs_back():
    clock = Clock(1.0)
    for told in (10.0, 10.5, 3_610.5, 3_600.0, 3_601.0):
        clock.advance(told)
    assert (clock.now, clock.elapsed) == (0.5 + 1.0 + 1.0, 0.5 + 3_600.0 + 1.0)
