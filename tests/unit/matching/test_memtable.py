"""Memtables with conditions are compiled before they cost much; their memory is that of the filters they hold."""

import gc
import threading
import time
import tracemalloc
from random import Random

import pytest

from cbnet import Table, parse, parse_filter
from cbnet.matching import LiveTable, live_table

EVENT = {"k": 3, "detail": {"state": "on"}, "a": 1, "b": 2}


def live(text, count):
    table = LiveTable()
    for n in range(count):
        table.add(n, parse_filter(text.format(n=n)))
    return table


@pytest.mark.parametrize("text", ["k >= {n} and a < b", 'k >= {n} and detail.state = "on"'])
def test_a_memtable_that_python_matches_often_is_compiled(text):
    table = live(text, 6)
    assert table.merges == 0
    for _ in range(200):
        assert table.match(EVENT) == [0, 1, 2, 3]
    table.wait()
    assert table.merges == 1
    assert table.match(EVENT) == [0, 1, 2, 3]


def test_flat_messages_without_conditions_compile_nothing():
    table = live("k = {n}", 6)
    for _ in range(2_000):
        assert table.match({"k": 3}) == [3]
    assert table.merges == 0


def test_a_message_with_very_many_combinations_is_matched_by_compiled_filters_only():
    table = live("a + b + c = {n}", 20)
    message = {name: list(range(100, 145)) for name in "abc"}  # 91,125 combinations: 0.5 s for each filter in Python
    start = time.thread_time()
    assert table.match(message) == []
    assert time.thread_time() - start < 9  # in Python it would take 10 s
    assert table.merges == 1
    table.add("met", parse_filter("a + b + c = 300"))
    assert table.match(message) == ["met"]


def test_changes_during_compilation_are_kept():
    table = live("k >= {n} and a < b", 6)
    stop = threading.Event()

    def match():
        while not stop.is_set():
            table.match(EVENT)

    reader = threading.Thread(target=match)
    reader.start()
    for n in range(300):
        table.add(n, parse_filter(f"k >= {n % 7} and a < b"))
        table.remove(n, parse_filter(f"k >= {n} and a < b"))
    stop.set()
    reader.join()
    table.wait()
    expected = {n for n in range(300) if parse(f"k >= {n % 7} and a < b").matches(EVENT) and n % 7 != n}
    assert set(table.match(EVENT)) == expected


def test_filters_that_come_and_go_take_no_memory():
    table, random = LiveTable(), Random(1)
    table.add(0, parse_filter("x = 1"))

    def cycle():
        filters = [parse_filter(f'name{random.random()} = "{random.randbytes(50).hex()}"') for _ in range(1_000)]
        assert all(table.add(1, filter) for filter in filters)
        assert all(table.remove(1, filter) for filter in filters)

    def used():
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        cycle()
        before = used()
        for _ in range(5):
            cycle()
        assert used() - before < 500_000  # a filter takes 500 bytes
    finally:
        tracemalloc.stop()
    assert table.match({"x": 1}) == [0]
    assert table.merges == 0


def test_filters_that_do_not_change_any_more_are_compiled():
    table = live("x = {n}", 300)
    table.settle()
    assert table.merges == 0  # they may still change
    table.add(300, parse_filter("x = 300"))
    table.settle()
    assert table.merges == 0
    table.settle()
    table.wait()
    assert (table.merges, table.match({"x": 300})) == (1, [300])
    table.settle()
    table.settle()
    table.wait()
    assert table.merges == 1  # nothing is left to compile


def test_levels_of_filters_that_do_not_change_any_more_are_merged():
    table = LiveTable()
    for first, end in ((0, 3_000), (3_000, 3_300)):  # the second level is too small to be merged with the first
        for n in range(first, end):
            table.add(n, parse_filter(f"x = {n}"))
        table.settle()
        table.settle()
        table.wait()
    table.settle()
    table.settle()
    table.wait()
    assert len(table._state.levels) == 2  # the base, and one for all
    assert [table.match({"x": n}) for n in (0, 2_999, 3_000, 3_299)] == [[0], [2_999], [3_000], [3_299]]


def test_the_longer_filters_do_not_change_the_larger_the_levels_that_are_merged(monkeypatch):
    monkeypatch.setattr(live_table, "MIN_MERGE", 300)
    table, end = LiveTable(Table.build({n: f"x = {n}" for n in range(20_000)})), 20_000
    for count in (1_500, 260):  # a level that is small beside the base, and one that is small beside that
        for n in range(end, end + count):
            table.add(n, parse_filter(f"x = {n}"))
        end += count
        table.settle()
        table.settle()
        table.wait()
    for quiet_calls in range(7):
        assert [*map(len, table._state.levels)] == [20_000, 1_500, 260], quiet_calls  # 1,760 is more than 5 times 300
        table.settle()
        table.wait()
    assert [*map(len, table._state.levels)] == [20_000, 1_760]
    assert [table.match({"x": n}) for n in (0, 20_000, 21_499, 21_759)] == [[0], [20_000], [21_499], [21_759]]
