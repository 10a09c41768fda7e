"""Rows of the log in memory, against a plain dict; what nobody needs is freed, and less than half of the log is not."""

from random import Random

import pytest

from cbnet.network.durable.home_log import log_rows as module
from cbnet.network.durable.home_log.journal import RecoveredRows
from cbnet.network.durable.home_log.log_rows import LogRows


@pytest.mark.parametrize("chunk", [1, 4, 16, 1_024])
def test_random_changes_give_what_a_dict_gives(monkeypatch, chunk):
    monkeypatch.setattr(module, "_CHUNK", chunk)
    for seed in range(30):
        random = Random(seed)
        rows, plain, following = LogRows(RecoveredRows()), {}, 1
        for _ in range(300):
            kind = random.random()
            live = [position for position, row in plain.items() if row[3]]
            if kind < 0.4 or not live:
                row = [random.randrange(1, 4), random.choice([0, 5, 10_000]), float(following), random.randrange(1, 4)]
                rows.add(following, *row)
                plain[following] = row
                following += 1
            elif kind < 0.8:
                position = random.choice([live[0], live[-1], random.choice(live)])
                plain[position][3] -= 1
                assert rows.release(position) == plain[position][1]
            elif kind < 0.85:
                position, plain_set = random.choice(live), random.randrange(1, 9)
                rows.assign(position, plain_set)
                plain[position][0] = plain_set
            elif kind < 0.9:
                position = random.choice(live)
                plain[position][3] += 1
                assert rows.need([position]) == plain[position][1]
            else:
                check_freed(rows.free(), plain)
            for position in [*plain][:: max(1, len(plain) // 5)]:
                found = rows.set_of(position), rows.size(position), rows.time(position)
                assert found == tuple(plain[position][:3])


def check_freed(freed, plain):
    """Remove freed rows from a dict; check that none was needed, and that most of those that nobody needs are freed."""
    spans, sets = freed
    gone = [position for position in plain if any(first <= position < end for first, end in spans)]
    assert not any(plain[position][3] for position in gone)
    assert sorted(sets) == sorted(plain.pop(position)[0] for position in gone)
    if plain:
        assert plain[min(plain)][3]  # the log begins with a row that is needed
    live = sum(size + 100 for _, size, _, needs in plain.values() if needs)
    dead = sum(size + 100 for _, size, _, needs in plain.values() if not needs)
    assert dead < live or not plain


def test_what_was_acknowledged_in_a_row_is_removed_as_a_span():
    rows = LogRows(RecoveredRows())
    for position in range(1, 5_001):
        rows.add(position, 1, 10, 0.0, 1)
    for position in range(2, 5_000):
        rows.release(position)
    assert rows.free().spans == [(2, 5_000)]
    rows.release(1)
    assert rows.free().spans == [(1, 2)]
    rows.release(5_000)
    assert rows.free().spans == [(5_000, 5_001)]
    assert rows.free() == ([], [])


def test_rows_that_are_left_here_and_there_share_chunks():
    """A subscription that needs one message in a thousand keeps no memory of the others."""
    rows = LogRows(RecoveredRows())
    for position in range(100_000):
        rows.add(position, 1, 10, 0.0, 1)
        if position % 1_000:
            rows.release(position)
            if position % 100 == 50:
                rows.free()
    rows.free()
    assert sum(len(chunk) for chunk in rows._chunks) <= 200
    assert len(rows._chunks) <= 2
    assert [rows.size(position) for position in range(0, 100_000, 1_000)] == [10] * 100


def test_dead_rows_are_found_again_after_a_restart():
    found = RecoveredRows()
    for position in range(1, 11):
        found.add(position, 1, 10, 0.0)
    rows = LogRows(found)
    rows.need([3, 9, 10])
    assert rows.free_all().spans == [(1, 3), (4, 9)]
