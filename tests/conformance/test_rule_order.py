"""Every front returns the same rules in the same order: highest priority first, then table order.

Those that need Java are in `tests/spark/pipeline/match/test_rule_order.py`; what their workers run is here. DuckDB is in
`tests/process/test_duckdb.py`.
"""

import csv
import json
from collections import defaultdict
from dataclasses import replace

import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from support.rule_order import MESSAGES, NUMBERS, RULES, expected, rule_lines

from cbnet import Message, Rule, Table
from cbnet.language.syntax.json_form import message_from_json
from cbnet.matching import LiveTable
from cbnet.pipeline.match.batch_matcher import MatchPlan, match_batches, match_lists
from cbnet.pipeline.match.shipped_tables import ShippedTable, filter_table

FRAME = pa.Table.from_pylist(MESSAGES)
FRAMES = {
    "table": pa.table,
    "batch": lambda table: table.to_batches()[0],
    "reader": lambda table: table.to_reader(2),
    "pandas": pa.Table.to_pandas,
    "polars": pl.from_arrow,
}
WRITERS = {
    ".parquet": pq.write_table,
    ".csv": pa.csv.write_csv,
    ".arrow": pa.feather.write_feather,
    ".jsonl": lambda table, path: path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist())),
}


@pytest.fixture(params=[False, True], ids=["names", "numbers"])
def numbered(request):
    return request.param


@pytest.fixture
def answers(numbered):
    return expected(numbered)


@pytest.fixture
def rule_file(tmp_path, numbered):
    path = tmp_path / "rules.jsonl"
    path.write_text(rule_lines(numbered=numbered))
    return path


@pytest.fixture(params=["file", "pivot", "counting"])
def table(request, rule_file, cbnet, tmp_path):
    """The rules as read from their file, and compiled for each engine and mapped."""
    if request.param == "file":
        return Table.open(rule_file)
    compiled = tmp_path / "rules.cbt"
    assert cbnet("compile", "--rules", rule_file, "-o", compiled, "--engine", request.param).code == 0
    return Table.open(compiled)


@pytest.mark.parametrize("form", [dict, Message, lambda each: message_from_json(json.dumps(each))])
def test_match_and_match_many(table, answers, form):
    messages = [form(each) for each in MESSAGES]
    assert [table.match(each) for each in messages] == answers
    assert table.match_many(messages) == table.match_many(messages, threads=2) == answers


def test_table_built_in_python(numbered, answers):
    rows = [json.loads(line) for line in rule_lines(numbered=numbered).splitlines()]
    details = [Rule(row["name"], row.get("priority", 0)) for row in rows]
    table = Table.build({row["name"]: row["when"] for row in rows}, rules=reversed(details))
    assert [table.match(each) for each in MESSAGES] == answers
    assert [*table] == [row["name"] for row in rows]  # the order of the table stays


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
def test_frames(table, answers, frame):
    assert table.match_frame(frame(FRAME), threads=2).to_pylist() == answers


def test_live_table_and_its_snapshot(rule_file, answers):
    live = LiveTable(Table.open(rule_file))
    for _ in range(2):
        assert [live.match(each) for each in MESSAGES] == answers
        live.replace("added", "x = 77")  # a change does not lose priorities
    assert [live.snapshot().match(each) for each in MESSAGES] == answers
    live.replace("added", "x = 1")
    low = answers[1].index(answers[1][-2])  # before the rule of priority -1: 0, and after the other zeros
    assert live.match({"x": 1}) == [*answers[1][:low], "added", *answers[1][low:]]


@pytest.mark.parametrize("suffix", WRITERS)
def test_command_prints_text_and_json(cbnet, rule_file, answers, tmp_path, suffix):
    WRITERS[suffix](FRAME, path := tmp_path / f"messages{suffix}")
    lines = cbnet("match", "--rules", rule_file, path).out.splitlines()
    assert lines == [f"{number}: {', '.join(map(str, names))}" for number, names in enumerate(answers, 1)]
    *rows, summary = (
        json.loads(line) for line in cbnet("match", "--rules", rule_file, path, "--json").out.splitlines()
    )
    assert [row["rules"] for row in rows] == answers
    assert (summary["rules"], summary["matches"]) == (9, sum(map(len, answers)))


def test_command_reads_standard_input(cbnet, rule_file, answers):
    lines = "".join(json.dumps(each) + "\n" for each in MESSAGES).encode()
    rows = cbnet("match", "--rules", rule_file, "--json", stdin=lines).out.splitlines()[:-1]
    assert [json.loads(row)["rules"] for row in rows] == answers


def read(path):
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            return [
                {**row, "rules": json.loads(row["rules"])} if "rules" in row else row for row in csv.DictReader(file)
            ]
    return (pq.read_table if path.suffix == ".parquet" else pa.feather.read_table)(path).to_pylist()


@pytest.mark.parametrize(("source", "suffix"), [(".jsonl", ".jsonl"), *((".parquet", suffix) for suffix in WRITERS)])
def test_files(cbnet, rule_file, answers, tmp_path, source, suffix):
    WRITERS[source](FRAME, path := tmp_path / f"messages{source}")
    lists, each = tmp_path / f"lists{suffix}", tmp_path / f"rows{suffix}"
    assert cbnet("match", "--rules", rule_file, path, "-o", lists).code == 0
    assert [row["rules"] for row in read(lists)] == answers
    assert cbnet("match", "--rules", rule_file, path, "-o", each, "--rows").code == 0
    found = [(int(row["id"]), str(row["rule"])) for row in read(each)]
    assert found == [(id, str(name)) for id, names in enumerate(answers) for name in names]


def plan(folder, numbered, shares, *, filters=False):
    """Return the plan of a worker of Spark that matches with a table for each share of the rules."""
    tables = []
    for number, own in enumerate(shares):
        rules, compiled = folder / f"{number}.jsonl", folder / f"{number}.cbt"
        rules.write_text(rule_lines([RULES[index] for index in own], numbered))
        Table.open(rules).save(compiled)
        if filters:
            filter_table(compiled)
        tables.append(ShippedTable(str(number), str(compiled), is_shipped=False, with_filters=filters, size=0))
    result = pa.schema({"rule": pa.int64() if numbered else pa.string()} | ({"filter": pa.string()} if filters else {}))
    is_overlapping = sum(map(len, shares)) > len(RULES)
    return MatchPlan(tuple(tables), ("id",), ("x",), result, is_overlapping, "fail")


SHARES = pytest.mark.parametrize(
    "shares",
    [[range(9)], [range(4), range(4, 9)], [range(4, 9), range(6)]],
    ids=["one table", "two tables", "two tables that share rules"],
)
BATCH = pa.RecordBatch.from_arrays([FRAME["id"].combine_chunks(), FRAME["x"].combine_chunks()], ["id", "x"])


def rules_of(batches):
    found = defaultdict(dict)  # in the order of the rows, each rule once
    for part in batches:
        for row in part.to_pylist():
            found[row["id"]][row["rule"]] = None
    return [[*found[each["id"]]] for each in MESSAGES]


@SHARES
@pytest.mark.parametrize("filters", [False, True], ids=["rules", "filters"])
def test_rows_of_spark_workers(tmp_path, numbered, answers, shares, filters):
    own = plan(tmp_path, numbered, shares, filters=filters)
    by_table = sorted(range(9), key=[index for share in shares for index in share].index)
    assert rules_of(match_batches([BATCH], own)) == ordered_as(by_table, answers, numbered)


@SHARES
def test_lists_of_spark_workers(tmp_path, numbered, answers, shares):
    own = replace(plan(tmp_path, numbered, shares), keys=())
    by_table = sorted(range(9), key=[index for share in shares for index in share].index)
    lists = match_lists(BATCH.select(["x"]), own).to_pylist()
    assert lists == [[*map(str, names)] for names in ordered_as(by_table, answers, numbered)]


def ordered_as(indexes, answers, numbered):
    """Return the answers with ties in the order of these rules: several tables are one, in the order of the tables."""
    names = [NUMBERS[RULES[index][0]] if numbered else RULES[index][0] for index in indexes]
    priorities = {name: RULES[index][2] or 0 for name, index in zip(names, indexes, strict=True)}
    return [sorted(sorted(each, key=names.index), key=priorities.get, reverse=True) for each in answers]
