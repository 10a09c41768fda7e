"""`cbnet spark match`, in the Spark session of the tests."""

import json

import pytest

from cbnet import Table
from cbnet.pipeline.spark.results import read_result

pytestmark = pytest.mark.usefixtures("spark")

LINES = [
    '{"id": 1, "price": 10.5, "#": ["new"], "from": {"city": "Zug"}, "n": [1, 2]}',
    '{"id": 2, "price": 99, "#": []}',
    '{"id": 3, "price": }',
    '{"id": 4, "from": {"city": "Bern"}}',
]
PREDICATES = {"cheap": "price < 50", "zug": 'from.city = "Zug" or from.city ^= "Ber"', "new": "#new and price > 1"}


@pytest.fixture
def files(tmp_path):
    (tmp_path / "messages.jsonl").write_text("\n".join(LINES) + "\n")
    Table.build(PREDICATES).save(tmp_path / "table.cbt")
    return [str(tmp_path / "messages.jsonl"), "--rules", str(tmp_path / "table.cbt")]


def test_matches_counts_and_summary_are_written(cbnet, files, tmp_path, spark):
    out = tmp_path / "out"
    done = cbnet("spark", "match", *files, "--output", out, "--select", "id", "--buckets", "2", "--json")
    assert done.code == 2, done.err  # one line could not be read
    summary = json.loads(done.out)
    assert (summary["records"], summary["matches"]) == (4, 4)
    assert summary["rejected"] == {"a value is missing": 1}
    assert summary["rules"] == 3
    steps = ["ship tables", "read the schema", "start workers", "match and write", "count by rule"]
    assert [*summary["steps"]] == [*steps, "collect rejected rows"]
    rows = {(row.id, row.rule) for row in read_result(spark, f"{out}/matches").frame(spark).collect()}
    assert rows == {(1, "cheap"), (1, "zug"), (1, "new"), (4, "zug")}
    counts = {row.rule: row.matches for row in read_result(spark, f"{out}/counts").frame(spark).collect()}
    assert counts == {"cheap": 1, "zug": 2, "new": 1}
    manifest = json.loads((out / "_cbnet.json").read_text())
    assert manifest["summary"] == summary
    assert manifest["folders"] == {name: name for name in ("matches", "counts", "rejected")}


def test_rejected_rows_are_written_dropped_or_fail_the_job(cbnet, files, tmp_path, spark):
    out = tmp_path / "out"
    assert cbnet("spark", "match", *files, "--output", out).code == 2
    [letter] = read_result(spark, f"{out}/rejected").frame(spark).collect()
    assert (letter["_line"], letter["_error"]) == (LINES[2], "a value is missing")
    assert letter["_place"] == f"{tmp_path}/messages.jsonl:3:20"
    dropped = cbnet("spark", "match", *files, "--output", out, "--on-error", "drop", "--json")
    assert json.loads(dropped.out)["rejected"] == {"a value is missing": 1}
    assert not (out / "rejected").exists()
    failed = cbnet("spark", "match", *files, "--output", out, "--on-error", "fail", "--select", "id")
    assert (failed.code, failed.out) == (1, "")
    assert f"the job failed: the line {LINES[2]!r} is not a valid message: a value is missing" in failed.err


def test_csv_columns_have_the_types_that_are_stated(cbnet, tmp_path):
    (tmp_path / "t.csv").write_text("fw,n\n1.2,7\n2.1,8\n")
    Table.build({"version": 'fw = "1.2"', "number": "n = 7", "text": 'n = "7"'}).save(tmp_path / "t.cbt")
    given = ("spark", "match", tmp_path / "t.csv", "-r", tmp_path / "t.cbt", "--dry-run", "--json", "--types")
    for types, kinds in (
        (["fw=string"], ["string", "int"]),
        (["all=string", "--types", "n=float"], ["string", "float"]),
    ):
        *columns, _ = map(json.loads, cbnet(*given, *types).out.splitlines())
        assert [column["kind"] for column in columns] == kinds
    assert f"{tmp_path}/t.csv: no column 'fv'" in cbnet(*given, "fv=int").out


MIXED = {"cold": "temp < 0", "warm": "temp >= 20", "failed": 'temp ^= "err"', "exact": "temp = 9007199254740993"}


def test_json_means_what_it_means_to_cbnet_match(cbnet, tmp_path, spark):
    """Numbers, texts and arrays in one member, which Spark takes for text; blank lines, and lines that are no messages."""
    temps = ['"err"', "9007199254740993", '[30, "error"]', "true", "NaN", "null", *map(str, range(-20, 40))]
    lines = [f'{{"id": {number}, "temp": {temp}}}' for number, temp in enumerate(temps)]
    text = "\ufeff" + "\n".join([*lines, "", "  ", '{"id": 99, "temp": }'])
    for number in range(2):
        (tmp_path / f"{number}.jsonl").write_text(text)
    Table.build(MIXED).save(tmp_path / "t.cbt")
    here = [
        cbnet("match", tmp_path / f"{number}.jsonl", "--rules", tmp_path / "t.cbt", "--json") for number in range(2)
    ]
    done = cbnet("spark", "match", tmp_path / "*.jsonl", "-r", tmp_path / "t.cbt", "-o", tmp_path / "out", "--json")
    assert (done.code, here[0].code) == (2, 2)
    own = [json.loads(line) for each in here for line in each.out.splitlines()]
    counts = {row.rule: row.matches for row in spark.read.parquet(f"{tmp_path}/out/counts").collect()}
    assert counts == {rule: sum(rule in each["rules"] for each in own if "message" in each) for rule in MIXED}
    assert counts == {"cold": 40, "warm": 44, "failed": 4, "exact": 2}
    assert json.loads(done.out)["records"] == 2 * (len(lines) + 1)
    places = {row["_place"] for row in spark.read.parquet(f"{tmp_path}/out/rejected").collect()}
    assert {f"{tmp_path}/{number}.jsonl:{len(lines) + 3}" for number in range(2)} == {
        place.rpartition(":")[0] for place in places if ":69:" in place
    }
    assert len(places) == 4


def test_repeated_names_are_rejected_if_spark_need_not_infer_columns(cbnet, tmp_path):
    (tmp_path / "m.jsonl").write_text('{"id": 1, "temp": 30}\n{"id": 2, "temp": 1, "temp": 30}\n')
    Table.build(MIXED).save(tmp_path / "t.cbt")
    given = ("spark", "match", tmp_path / "m.jsonl", "-r", tmp_path / "t.cbt", "-o", tmp_path / "out", "--json")
    assert "names are repeated in a message" in cbnet(*given).out
    summary = json.loads(cbnet(*given, "--schema", "id int").out)
    assert (summary["matches"], summary["rejected"]) == (1, {'duplicate name "temp"': 1})


def test_json_in_folders_and_with_any_names_is_matched_line_by_line(cbnet, tmp_path, spark):
    lines = [
        '{"id": 1, "temp": 30, "_file": 1, "_line": 2, "_start": 3, "_Place": 4, "_error": 5, "#": ["t"], "at": {"city": "a"}}',
        '{"id": 2, "temp": 31, "#": "t", "at": "none"}',  # so Spark's type of "#" and "at" is string
    ]
    (tmp_path / "in/date=2026-07-31").mkdir(parents=True)
    (tmp_path / "in/date=2026-07-31/m.jsonl").write_text("\n".join(lines))
    Table.build(MIXED | {"tagged": '#t and at.city = "a"'}).save(tmp_path / "t.cbt")
    given = ("spark", "match", tmp_path / "in", "-r", tmp_path / "t.cbt", "-o", tmp_path / "out", "--json")
    options = "--format json --select id --select date --column # --column at.city --column temp"
    done = cbnet(*given, *options.split())
    assert (done.code, "warning" in done.err) == (2, False), done.out + done.err
    [row, tagged] = spark.read.parquet(f"{tmp_path}/out/matches").orderBy("rule").collect()
    assert (row.id, row.rule, tagged.rule, str(row.date)) == (1, "tagged", "warm", "2026-07-31")
    [letter] = spark.read.parquet(f"{tmp_path}/out/rejected").collect()
    assert (letter["_line"], letter["_place"][-2:]) == (lines[1], "28")  # the value of "#"
    assert "no column 'tmp'" in cbnet(*given, "--format", "json", "--column", "tmp").out
    Table.build({"day": "date > 0"}).save(tmp_path / "t.cbt")
    assert "'date' is in the names of folders" in cbnet(*given, "--format", "json").out


def test_records_are_counted_where_nothing_matches(cbnet, files, tmp_path, spark):
    """Spark replaces an empty join or shuffle by nothing, counts included, unless this rule is switched off."""
    rules = spark.conf.get("spark.sql.adaptive.optimizer.excludedRules", "")
    spark.conf.set("spark.sql.adaptive.optimizer.excludedRules", "")
    Table.build({"none": "Price > 1000000"}).save(tmp_path / "table.cbt")
    try:
        done = cbnet("spark", "match", *files, "--output", tmp_path / "out", "--on-error", "drop", "--json")
    finally:
        spark.conf.set("spark.sql.adaptive.optimizer.excludedRules", rules)
    summary = json.loads(done.out)
    assert (summary["records"], summary["matches"], summary["rules"]) == (4, 0, 0)
    assert "rules does not fit the columns:\n  rule none: no column 'Price'; did you mean 'price'?" in done.err


def test_the_dry_run_shows_the_mapping_and_writes_nothing(cbnet, files, tmp_path):
    done = cbnet("spark", "match", *files, "--output", tmp_path / "out", "--dry-run", "--json")
    assert done.code == 0, done.err
    *columns, table = map(json.loads, done.out.splitlines())
    assert [tuple(row.values()) for row in columns] == [
        ("#", "array<string>", "tags", False, True),
        ("from.city", "string", "string", False, True),
        ("id", "bigint", "int", False, False),
        ("n", "bigint", "int", True, False),
        ("price", "double", "float", False, True),
    ]
    assert table["table_bytes"] == (tmp_path / "table.cbt").stat().st_size
    assert not (tmp_path / "out").exists()
    shown = cbnet("spark", "match", *files, "--dry-run").out
    assert "from.city" in shown
    assert table["version"] in shown


def test_types_inferred_from_csv_are_named_where_a_rule_disagrees(cbnet, tmp_path):
    (tmp_path / "log.csv").write_text("fw,dest\n1.2,MXP\n2.1,LIN\n")
    (tmp_path / "rules.toml").write_text("[rules]\nold = 'fw = \"1.2\"'\n")
    given = ("spark", "match", tmp_path / "log.csv", "--rules", tmp_path / "rules.toml")
    problem = (
        "rule old: fw = \"1.2\": the column 'fw' holds numbers, as inferred from its cells;"
        " state its type: --types fw=string\n"
    )
    shown = cbnet(*given, "--dry-run")
    assert (shown.code, f"1 of 1 rules does not fit the columns:\n  {problem}" in shown.err) == (0, True), shown.err
    for dry_run in (["--dry-run"], ["--output", tmp_path / "out"]):
        strict = cbnet(*given, *dry_run, "--strict")
        assert (strict.code, strict.out, f"error: columns: {problem}" in strict.err) == (2, "", True), strict.err
    assert not (tmp_path / "out" / "matches").exists()
    stated = cbnet(*given, "--dry-run", "--strict", "--types", "fw=string")
    assert (stated.code, "warning" in stated.err) == (0, False), stated.err


def test_people_get_a_summary_in_words(cbnet, files, tmp_path):
    done = cbnet("spark", "match", *files, "--output", tmp_path / "out", "--schema", "price double", "--filters")
    assert done.code == 2, done.err
    first, second, third, *_ = done.out.splitlines()
    assert first == "4 records, 4 matches, 1 rejected row; 3 rules matched"
    assert second == "  rejected: 1: a value is missing"
    assert third.startswith("table ")
    assert "per second" not in third  # of four records


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--output", "{tmp}/out", "--format", "avro"], "unknown format 'avro'"),
        (["--output", "{tmp}/out", "--schema", "price dubble"], "'price dubble' is not a schema"),
        (["--output", "{tmp}/out", "--option", "header"], "--option: 'header' is not KEY=VALUE"),
        (["--output", "{tmp}/out", "--select", "nothing"], "no column 'nothing'"),
        (["--output", "{tmp}/out", "--column", "prise"], "no column 'prise'; did you mean 'price'?"),
        (["--output", "{tmp}"], "the output folder contains"),
        ([], "no output folder given"),
    ],
)
def test_errors_are_one_line(cbnet, files, tmp_path, arguments, error):
    done = cbnet("spark", "match", *files, *(argument.format(tmp=tmp_path) for argument in arguments))
    assert done.code == 2
    assert error in done.err
    assert "Traceback" not in done.err


def test_missing_messages_are_reported(cbnet, files, tmp_path):
    done = cbnet("spark", "match", tmp_path / "no", *files[1:], "--output", tmp_path / "out")
    assert (done.code, "cannot read" in done.err) == (2, True)


def test_presets_are_read_and_their_bad_lines_are_counted(cbnet, tmp_path, spark):
    quotes = ["[class,'STOCK'],[symbol,'ABC'],[open,9.25]", "[class,'STOCK'],[symbol,'XYZ'],[volume,7]", "nonsense"]
    (tmp_path / "quotes.txt").write_text("\n".join(quotes) + "\n")
    Table.build({1: 'symbol ^= "A"', 2: "volume > 5"}).save(tmp_path / "t.cbt")
    paths = [tmp_path / "quotes.txt", "--rules", tmp_path / "t.cbt", "--output", tmp_path / "out"]
    done = cbnet("spark", "match", *paths, "--format", "stockquotes", "--select", "symbol", "--buckets", "0", "--json")
    summary = json.loads(done.out)
    assert (done.code, summary["records"], sum(summary["rejected"].values())) == (2, 3, 1)
    rows = {(row.symbol, row.rule) for row in read_result(spark, f"{tmp_path}/out/matches").frame(spark).collect()}
    assert rows == {("ABC", 1), ("XYZ", 2)}
