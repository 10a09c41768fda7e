"""Every path gives the same rules for the same data, those of brute force, or refuses it with a reason."""

import os
from functools import reduce

import duckdb
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from support.data_sets import KEY, REFUSED, data_sets, joined

import cbnet
from cbnet import InputError, Table
from cbnet.matching.row_matching import match_rows
from cbnet.matching.storage.arrow_messages import read_frame
from cbnet.pipeline.match.message_dataframes import MessageFormat, message_schema, read_messages, read_stream

SETS = data_sets(os.environ["CBNET_TEST_SEED"])
COLUMNAR = [name for name, data in SETS.items() if data.types is not None]
WITHOUT_TYPES = [name for name, data in SETS.items() if data.types is None]
NOT_IN_SPARK = "nanoseconds"  # it refuses the file
GROUPS = {
    "jsonl": [*SETS],
    "parquet": COLUMNAR,
    "spark.parquet": [name for name in COLUMNAR if name != NOT_IN_SPARK],
    "csv": [name for name, data in SETS.items() if data.is_flat],
}


def group(form):
    """Return the data sets of a form as one."""
    return joined(SETS[name] for name in GROUPS[form])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder for each form, with a file in which the data sets of its group are joined."""
    folder = tmp_path_factory.mktemp("data")
    for form in GROUPS:
        data, path = group(form), folder / form / f"messages.{form}"
        path.parent.mkdir()
        if form == "jsonl":
            path.write_bytes(data.json_lines())
        elif form == "csv":
            path.write_bytes(data.csv())
        else:
            pq.write_table(data.arrow(), path)
    return folder


@pytest.fixture(scope="module")
def tables():
    """The table of each group."""
    return {form: Table.build(group(form).rules) for form in GROUPS}


@pytest.fixture(scope="module")
def expected():
    """The rules of each row of each group by brute force."""
    return {form: group(form).expected() for form in GROUPS}


def by_set(names, answers):
    """Return the answers of each data set."""
    answers = iter(answers)
    return {name: [next(answers) for _ in SETS[name].rows] for name in names}


def of_dict(table, row):
    try:
        return table.match(row)
    except InputError:
        return REFUSED


def by_dicts(table, _):
    rows = group("jsonl").rows
    found = [of_dict(table, row) for row in rows]
    valid = [row for row, rules in zip(rows, found, strict=True) if rules != REFUSED]
    assert table.match_many(valid) == [rules for rules in found if rules != REFUSED]
    return found


def by_frame(table, frame):
    found = []
    for part in match_rows(table._compiled, read_frame(frame).batches, reject=True):
        labels = [table._compiled.labels[target] for target in part.targets.tolist()]
        ends = zip(part.offsets, part.offsets[1:], strict=False)
        found += [REFUSED if row in part.rejected else labels[first:end] for row, (first, end) in enumerate(ends)]
    return found


def by_files(table, path, types=None):
    form = path.suffix.removeprefix(".")
    found = dict.fromkeys(range(len(group(form).rows)), REFUSED)
    found |= {match.message[KEY]: match.rules for match in table.match_files(path, types=types) if match.error is None}
    return [*found.values()]


PATHS = {
    "dicts": ("jsonl", by_dicts),
    "JSON Lines": ("jsonl", by_files),
    "CSV": ("csv", lambda table, path: by_files(table, path, group("csv").csv_types())),
    "Parquet": ("parquet", by_files),
    "pandas": ("parquet", lambda table, path: by_frame(table, pd.read_parquet(path, dtype_backend="pyarrow"))),
    "Polars": ("parquet", lambda table, path: by_frame(table, pl.read_parquet(path))),
    "DuckDB": ("parquet", lambda table, path: by_frame(table, duckdb.read_parquet(str(path)))),
}


@pytest.mark.parametrize("path", PATHS)
def test_answers_are_those_of_brute_force(path, files, tables, expected):
    form, match = PATHS[path]
    found = match(tables[form], files / form / f"messages.{form}")
    assert by_set(GROUPS[form], found) == by_set(GROUPS[form], expected[form])


def of_objects(rows):
    return pl.DataFrame({name: pl.Series([row.get(name) for row in rows], dtype=pl.Object) for name in {**rows[0]}})


@pytest.mark.filterwarnings("ignore::cbnet.ColumnWarning")
@pytest.mark.parametrize("name", WITHOUT_TYPES)
@pytest.mark.parametrize("frame", [pd.DataFrame, of_objects], ids=["pandas", "Polars"])
def test_frames_whose_columns_have_no_type_are_refused(name, frame):
    with pytest.raises(InputError, match=r"cannot be read as Arrow columns|is not a valid type for values"):
        Table.build(SETS[name].rules).match_frame(frame(SETS[name].rows))


@pytest.mark.filterwarnings("ignore::cbnet.ColumnWarning")
@pytest.mark.parametrize("name", ["mixed types", "mixed forms"])
def test_json_of_duckdb_is_refused_and_the_connection_can_go_on(name, tmp_path):
    (tmp_path / "messages.jsonl").write_bytes(SETS[name].json_lines())
    rows = duckdb.read_json(str(tmp_path / "messages.jsonl"))
    with pytest.raises(InputError, match="DuckDB's JSON is not a valid type for values"):
        Table.build(SETS[name].rules).match_frame(rows)
    assert duckdb.sql("select 1").fetchall() == [(1,)]


def test_spark_refuses_nanoseconds(spark, tmp_path):
    pq.write_table(SETS[NOT_IN_SPARK].arrow(), tmp_path / "messages.parquet")
    with pytest.raises(InputError, match="Illegal Parquet type"):
        read_messages(spark, [str(tmp_path / "messages.parquet")], MessageFormat(format="parquet"))


SPARK_FORMS = {"parquet": "spark.parquet", "json": "jsonl", "csv": "csv"}


@pytest.mark.filterwarnings("ignore::cbnet.ColumnWarning")
@pytest.mark.parametrize("is_stream", [False, True], ids=["batch", "stream"])
def test_answers_of_spark_are_those_of_brute_force(is_stream, spark, files, tables, expected, tmp_path):
    """All forms are read by one job, or by one stream."""
    parts = []
    for format, form in SPARK_FORMS.items():
        stated = {"json": {"schema": f"{KEY} bigint"}, "csv": {"types": group("csv").csv_types()}}
        of, folder = MessageFormat(format=format, **stated.get(format, {})), str(files / form)
        if is_stream:
            rows = read_stream(spark, folder, of, message_schema(spark, [folder], of))
        else:
            rows = read_messages(spark, [folder], of).rows
        matched = cbnet.spark.match(rows, tables[form], key=KEY, on_error="column")
        parts.append(matched.select(F.lit(form).alias("form"), KEY, "rule", "_error"))
    whole, rows = reduce(DataFrame.unionAll, parts), []
    if is_stream:
        writer = whole.writeStream.foreachBatch(lambda frame, _: rows.extend(frame.collect()))
        writer.trigger(availableNow=True).option("checkpointLocation", str(tmp_path)).start().awaitTermination()
    else:
        rows = whole.collect()
    found = {form: [[] for _ in expected[form]] for form in SPARK_FORMS.values()}
    for row in rows:
        if row["_error"] is not None:
            found[row.form][row.n] = REFUSED
        else:
            found[row.form][row.n].append(row.rule)
    for form in SPARK_FORMS.values():
        assert by_set(GROUPS[form], found[form]) == by_set(GROUPS[form], expected[form]), form
