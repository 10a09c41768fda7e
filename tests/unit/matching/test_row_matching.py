"""Data frames of other libraries, and parts of bounded size."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cbnet import InputError, Table
from cbnet.matching import row_matching
from cbnet.matching.row_matching import in_order, match_rows

TABLE = Table.build({"one": "x = 1", "on": 'detail.state = "on"', "new": 'at >= "2026-01-02"', "sale": "#sale"})
ARROW = pa.table({"x": [1, 2, 1], "y": ["a", None, "b"]})


@pytest.mark.parametrize(
    "frame",
    [
        lambda: ARROW,
        lambda: ARROW.to_batches()[0],
        lambda: ARROW.to_reader(max_chunksize=2),
        lambda: pa.table({"x": pa.chunked_array([[1, 2], [], [1]])}),
        lambda: pa.array([{"x": 1}, {"x": 2}, {"x": 1}]),
        lambda: ARROW.to_pandas(),
        lambda: pl.from_arrow(ARROW),
    ],
    ids=["table", "batch", "reader", "chunks", "array", "pandas", "polars"],
)
def test_every_frame_gives_a_column_aligned_with_its_rows(frame):
    column = TABLE.match_frame(frame())
    assert column.type == pa.list_(pa.string())
    assert column.to_pylist() == [["one"], [], ["one"]]


def test_structs_times_and_tags_of_data_frames():
    at = pd.to_datetime(["2026-01-01T23:59:59Z", "2026-01-02", None], format="ISO8601", utc=True)
    assert TABLE.match_frame(pd.DataFrame({"at": at})).to_pylist() == [[], ["new"], []]
    frame = pl.DataFrame({"detail": [{"state": "on"}, {"state": None}, None], "#": [["sale"], [], None]})
    assert TABLE.match_frame(frame).to_pylist() == [["on", "sale"], [], []]


def test_an_empty_frame_gives_an_empty_column_of_the_right_type():
    assert TABLE.match_frame(pa.table({})).type == pa.list_(pa.string())
    assert Table.build({7: "x = 1"}).match_frame(pa.table({"x": [1]})).to_pylist() == [[7]]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_parts_keep_the_order_of_the_rows(monkeypatch, threads):
    monkeypatch.setattr(row_matching, "FIRST_ROWS", 3)
    monkeypatch.setattr(row_matching, "_MAX_ROWS", 7)
    rows = pa.table({"x": [number % 5 for number in range(1000)]})
    column = TABLE.match_frame(rows, threads=threads)
    assert column.to_pylist() == [["one"] if number % 5 == 1 else [] for number in range(1000)]
    assert column.num_chunks > 100


def test_parts_shrink_where_rows_match_much(monkeypatch):
    monkeypatch.setattr(row_matching, "FIRST_ROWS", 10)
    monkeypatch.setattr(row_matching, "_MATCHES", 100)
    table = Table.build(dict.fromkeys(range(50), "exists x"))
    batches = [pa.record_batch({"x": list(range(100))})]
    sizes = [len(part.batch) for part in match_rows(table._compiled, batches)]
    assert sizes[0] == 10
    assert set(sizes[1:]) == {2}


def test_a_stream_is_read_as_it_is_matched():
    read = []

    def batches():
        for number in range(20):
            read.append(number)
            yield pa.record_batch({"x": [number]})

    parts = match_rows(TABLE._compiled, batches(), threads=2)
    next(parts)
    assert len(read) < 10


def test_the_error_of_a_row_names_its_number_in_the_whole_frame():
    wrong = pa.table({"x": pa.chunked_array([[1.0], [float("nan")]])})
    with pytest.raises(InputError, match="row 2, column 'x'"):
        TABLE.match_frame(wrong, threads=2)
    parts = [*match_rows(TABLE._compiled, wrong.to_batches(), reject=True)]
    assert [[*part.rejected] for part in parts] == [[], [0]]
    assert [part.targets.tolist() for part in parts] == [[0], []]


def test_an_error_in_a_thread_ends_the_others():
    def work(item):
        if item == 3:
            raise ValueError(item)
        return item

    results = in_order(work, iter(range(100)), threads=2)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="3"):
        next(results)


def test_a_lazy_frame_is_refused_with_the_remedy():
    with pytest.raises(InputError, match=r"LazyFrame is not Arrow data; call \.collect\(\) first"):
        TABLE.match_frame(pl.from_arrow(ARROW).lazy())
