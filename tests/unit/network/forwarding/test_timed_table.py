import cbnet.network.forwarding.timed_table as timed
from cbnet import parse
from cbnet.network.forwarding.timed_table import TimedTable, empty_table


def filled():
    table = TimedTable(empty_table())
    for interface, text in enumerate(("x > 1", "x > 2 and y = 1")):
        for filter in parse(text).filters:
            table.add(interface, filter)
    return table


def test_it_answers_as_a_live_table_does_whether_timed_or_not():
    table = filled()
    for _ in range(3 * timed._SAMPLE_INTERVAL):
        assert table.match({"x": 2}) == [0]
        assert table.match({"x": 3, "y": 1}) == [0, 1]


def test_every_match_is_counted_and_one_in_many_timed():
    table = filled()
    assert table.times() == {"matches": 0, "matches_timed": 0, "matches_timed_ns": 0}
    for asked in range(1, 3 * timed._SAMPLE_INTERVAL + 2):
        table.match({"x": asked})
        assert table.times()["matches"] == asked
    times = table.times()
    assert times["matches_timed"] == 3
    assert 0 < times["matches_timed_ns"] < 10**9


def test_matches_of_messages_in_frames_are_counted_too():
    table = filled()
    table.match({"x": 1})
    for _ in range(timed._SAMPLE_INTERVAL):
        assert table.matcher.match_frame(b"\x81\xa1x\x01\x90\xc4\x00") == table.match({"x": 1})
    assert table.times()["matches"] == 2 * timed._SAMPLE_INTERVAL + 1
    assert table.times()["matches_timed"] == sum(table.within) == 2


def test_those_that_are_timed_are_counted_by_how_long_they_took(monkeypatch):
    took = iter([0, 900, 0, 1_000, 0, 1_001, 0, 10**9])  # ns: begin and end of each
    monkeypatch.setattr(timed, "thread_time_ns", lambda: next(took))
    table = filled()
    for _ in range(4 * timed._SAMPLE_INTERVAL + 1):
        table.match({"x": 1})
    assert timed.BOUNDS_NS[:4] == (1_000, 2_000, 5_000, 10_000)
    assert table.within == [2, 1] + [0] * (len(timed.BOUNDS_NS) - 2) + [1]
