"""`cbnet match` on files: formats, forms of results, errors. Expected matches come from the reference."""

import json
import re

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from cbnet import Message, parse
from cbnet.matching import reference
from cbnet.matching.files import output_files

RULES = {
    "cheap": "price < 50",
    "milan": 'dest = "MXP" and price < 500',
    "never": 'dest = "JFK"',
    "odd/name": "id >= 95",
}
TRADES = [{"id": number, "dest": ("MXP", "LIN", "ZRH")[number % 3], "price": number * 7.5} for number in range(100)]


def matches(message):
    predicates = {name: parse(text) for name, text in RULES.items()}
    return reference.match(predicates, Message(message))


TAGGED = [{**trade, "rules": matches(trade)} for trade in TRADES]
SUMMARY = {
    "messages": 100,
    "matches": sum(len(row["rules"]) for row in TAGGED),
    "errors": 0,
    "rules": 4,
    "never_matched": ["never"],
}


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "rules.jsonl"
    path.write_text("".join(json.dumps({"name": name, "when": text}) + "\n" for name, text in RULES.items()))
    return path


@pytest.fixture
def write(tmp_path):
    """Return a function that writes trades to a file by its suffix."""

    def write(suffix, trades=TRADES, **columns):
        path, table = tmp_path / f"trades{suffix}", pa.Table.from_pylist(trades)
        for name, column in columns.items():
            table = table.append_column(name, column)
        if suffix == ".parquet":
            pq.write_table(table, path, row_group_size=30)
        elif suffix == ".csv":
            pa.csv.write_csv(table, path)
        elif suffix == ".jsonl":
            path.write_text("".join(json.dumps(trade) + "\n" for trade in trades))
        else:
            new = pa.ipc.new_file if suffix == ".arrow" else pa.ipc.new_stream
            with new(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=40)
        return path

    return write


def read(path):
    """Return the rows of a file of results."""
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    if path.suffix == ".csv":
        found = pa.csv.read_csv(path).to_pylist()
        return [{**row, "rules": json.loads(row["rules"])} if "rules" in row else row for row in found]
    if path.suffix == ".jsonl":
        return rows(path.read_text())
    with pa.ipc.open_file(path) if path.suffix == ".arrow" else pa.ipc.open_stream(path) as reader:
        return reader.read_all().to_pylist()


COLUMNAR = (".parquet", ".csv", ".arrow", ".arrows")


@pytest.mark.parametrize(
    ("source", "target"), [(one, other) for one in COLUMNAR for other in (*COLUMNAR, ".jsonl")] + [(".jsonl", ".jsonl")]
)
def test_a_file_gets_a_column_of_rules_in_every_format(cbnet, rules, write, tmp_path, source, target):
    outcome = cbnet("match", "--rules", rules, write(source), "-o", tmp_path / f"tagged{target}", "--json")
    assert (outcome.code, rows(outcome.out), outcome.err) == (0, [SUMMARY], "")
    assert read(tmp_path / f"tagged{target}") == TAGGED


@pytest.mark.parametrize("suffix", [*COLUMNAR, ".jsonl"])
def test_without_a_file_the_rules_of_each_row_are_printed(cbnet, rules, write, suffix):
    outcome = cbnet("match", "--rules", rules, write(suffix))
    expected = [f"{number}: {', '.join(matches(trade)) or '(none)'}" for number, trade in enumerate(TRADES, 1)]
    assert outcome.out.splitlines() == expected
    noun = "line" if suffix == ".jsonl" else "row"
    counts = f"100 messages, {SUMMARY['matches']} matches, 0 bad {noun}s"
    assert outcome.err.splitlines() == ["1 of 4 rules never matched: never", counts]


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_one_row_per_match(cbnet, rules, write, tmp_path, suffix):
    path = tmp_path / f"matches{suffix}"
    assert cbnet("match", "--rules", rules, write(suffix), "-o", path, "--rows").code == 0
    assert read(path) == [{**trade, "rule": name} for trade in TRADES for name in matches(trade)]


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_events_that_match_are_written_unchanged(cbnet, rules, write, tmp_path, suffix):
    path, matching = tmp_path / f"matching{suffix}", [trade for trade in TRADES if matches(trade)]
    assert cbnet("match", "--rules", rules, write(suffix), "-o", path, "--events").code == 0
    assert read(path) == matching
    assert rows(cbnet("match", "--rules", rules, write(suffix), "--events").out) == matching


@pytest.mark.parametrize("suffix", [*COLUMNAR, ".jsonl"])
def test_one_file_per_rule(cbnet, rules, write, tmp_path, suffix):
    folder = tmp_path / "split"
    assert cbnet("match", "--rules", rules, write(suffix), "--split", folder).code == 0
    assert {path.name for path in folder.iterdir()} == {f"{name}{suffix}" for name in ("cheap", "milan", "odd%2Fname")}
    for name in ("cheap", "milan"):
        assert read(folder / f"{name}{suffix}") == [trade for trade in TRADES if name in matches(trade)]
    again = cbnet("match", "--rules", rules, write(suffix), "--split", folder)
    assert (again.code, "the folder is not empty" in again.err) == (2, True)


def test_rules_whose_names_differ_in_type_or_case_have_files_of_their_own(cbnet, tmp_path):
    rules = [(7, "x = 1"), ("7", "x = 2"), ("A", "x = 3"), ("a", "x = 4")]
    (path := tmp_path / "rules.jsonl").write_text(
        "".join(json.dumps({"name": name, "when": when}) + "\n" for name, when in rules)
    )
    messages = b"".join(b'{"x": %d}\n' % x for x in (4, 3, 2, 1))
    assert cbnet("match", "--rules", path, "--split", tmp_path / "split", stdin=messages).code == 0
    files = {file.stem: json.loads(file.read_text())["x"] for file in (tmp_path / "split").iterdir()}
    assert files == {"7": 1, "7%-2": 2, "A": 3, "a%-2": 4}


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("x.csv", b"x,y\n1,2\n1,\xff\xfe\n", "x.csv:3: not UTF-8; save the file as UTF-8"),
        ("x.csv", b"x\n1\n\xc3", "x.csv:3: not UTF-8; save the file as UTF-8"),
        ("x.parquet", b"PAR1" + bytes(36), "x.parquet: not a Parquet file"),
        ("x.parquet", b'{"x": 1}\n', "x.parquet: not a Parquet file"),
        ("x.parquet", b"", "x.parquet: not a Parquet file"),
    ],
)
def test_a_damaged_file_is_one_error(cbnet, rules, tmp_path, name, content, problem):
    (tmp_path / name).write_bytes(content)
    outcome = cbnet("match", "--rules", rules, tmp_path / name)
    assert (outcome.code, outcome.out, len(outcome.err.splitlines())) == (2, "", 1)
    assert problem in outcome.err


def test_a_folder_writes_what_waits_when_it_is_too_much(cbnet, rules, write, tmp_path, monkeypatch):
    monkeypatch.setattr("cbnet.matching.files.output_files._MAX_WAITING", 100)
    monkeypatch.setattr("cbnet.matching.row_matching.FIRST_ROWS", 8)
    monkeypatch.setattr("cbnet.matching.row_matching._MAX_ROWS", 8)
    assert cbnet("match", "--rules", rules, write(".parquet"), "--split", tmp_path / "split").code == 0
    file = pq.ParquetFile(tmp_path / "split" / "milan.parquet")
    assert file.num_row_groups > 3
    assert file.read().to_pylist() == [trade for trade in TRADES if "milan" in matches(trade)]


def test_names_are_ordered_by_priority_and_metadata_come_back(cbnet, tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(
        "[rules]\nlow = 'x = 1'\n[rules.high]\nwhen = 'x = 1'\npriority = 5\nmetadata = { owner = 'é' }\n"
        "[rules.mid]\nwhen = 'exists x'\npriority = 1\n"
    )
    (row, _) = rows(cbnet("match", "--rules", path, "--json", stdin=b'{"x": 1}\n').out)
    assert row == {
        "message": 1,
        "rules": ["high", "mid", "low"],
        "priority": {"high": 5, "mid": 1},
        "metadata": {"high": {"owner": "é"}},
    }
    events = tmp_path / "x.jsonl"
    events.write_text('{"x": 1}\n{}\n{"x": 2}\n')
    assert cbnet("match", "--rules", path, events, "-o", tmp_path / "rows.jsonl", "--rows").code == 0
    assert read(tmp_path / "rows.jsonl") == [
        {"x": 1, "rule": "high", "rule_priority": 5, "rule_metadata": {"owner": "é"}},
        {"x": 1, "rule": "mid", "rule_priority": 1, "rule_metadata": None},
        {"x": 1, "rule": "low", "rule_priority": 0, "rule_metadata": None},
        {"x": 2, "rule": "mid", "rule_priority": 1, "rule_metadata": None},
    ]


def test_messages_may_have_fields_named_priority_and_metadata(cbnet, tmp_path):
    (path := tmp_path / "rules.jsonl").write_text('{"name": "a", "when": "x = 1", "priority": 5}\n')
    (events := tmp_path / "x.jsonl").write_text('{"x": 1, "priority": "low", "metadata": {}}\n')
    output = tmp_path / "rows.jsonl"
    assert cbnet("match", "--rules", path, events, "-o", output, "--rows", "--column", "matched").code == 0
    (row,) = read(output)
    assert row == {
        "x": 1, "priority": "low", "metadata": {}, "matched": "a", "matched_priority": 5, "matched_metadata": None
    }  # fmt: skip


def test_errors_are_capped_and_counted(cbnet, rules):
    lines = [b"nonsense"] * 30 + [b'{"price": 1}']
    outcome = cbnet("match", "--rules", rules, stdin=b"\n".join(lines))
    assert (outcome.code, outcome.out) == (2, "31: cheap\n")
    assert sum("expected a JSON object" in line for line in outcome.err.splitlines()) == 10
    assert "error: 20 more bad lines\n" in outcome.err
    as_json = rows(cbnet("match", "--rules", rules, "--json", stdin=b"\n".join(lines)).out)
    assert (len(as_json), as_json[-1]["errors"]) == (12, 30)


def test_an_invalid_row_is_reported_and_has_no_list_of_rules(cbnet, rules, write, tmp_path):
    trades = [{"price": 1.0}, {"price": float("nan")}, {"price": 600.0}]
    outcome = cbnet("match", "--rules", rules, write(".parquet", trades), "-o", tmp_path / "tagged.parquet")
    assert outcome.code == 2
    assert "trades.parquet: row 2, column 'price': NaN and infinity are not values" in outcome.err
    assert outcome.err.endswith("2 messages, 1 match, 1 bad row\n")
    assert [row["rules"] for row in read(tmp_path / "tagged.parquet")] == [["cheap"], None, []]


def test_columns_that_no_rule_uses_are_copied_and_never_refused(cbnet, rules, write, tmp_path):
    file = write(".parquet", blob=pa.array([b"\xff"] * 100), nan=pa.array([float("nan")] * 100))
    outcome = cbnet("match", "--rules", rules, file, "-o", tmp_path / "tagged.parquet")
    assert (outcome.code, pq.read_schema(tmp_path / "tagged.parquet").names[-3:]) == (0, ["blob", "nan", "rules"])


def test_csv_columns_have_the_type_of_all_their_cells(cbnet, tmp_path, monkeypatch):
    monkeypatch.setattr("cbnet.matching.files.columnar_files._CSV_BYTES", 64)
    rules = tmp_path / "rules.toml"
    rules.write_text(
        "[rules]\ntext = 'code = \"7\"'\nint = 'n = 7'\nfloat = 'f = 0.5'\nbool = 'b = true'\nempty = 'code = \"\"'"
    )
    table = tmp_path / "t.csv"
    lines = ["7,7,1,true", *["8,8,2,"] * 50, '"",7,0.5,false', "x,,,", "9,9"]
    table.write_text("\n".join(["code,n,f,b", *lines]))
    outcome = cbnet("match", "--rules", rules, table)
    assert [line for line in outcome.out.splitlines() if "none" not in line] == [
        "1: text, int, bool",
        "52: int, float, empty",
    ]
    assert (outcome.code, "row 54 has 2 cells and not 4: '9,9'" in outcome.err) == (2, True)


TYPED = "fw,n\n1.2,7\n2.1,8\n1.20,x\n"


@pytest.mark.parametrize(
    ("types", "first"),
    [
        ([], "1: text"),  # the cells of `fw` are numbers, those of `n` are not
        (["fw=string"], "1: version, text"),
        (["all=string", "fw=float"], "1: text"),
    ],
)
def test_csv_columns_have_the_types_that_are_stated(cbnet, tmp_path, types, first):
    (tmp_path / "rules.toml").write_text("[rules]\nversion = 'fw = \"1.2\"'\ntext = 'n = \"7\"'\n")
    (tmp_path / "t.csv").write_text(TYPED)
    options = [part for type in types for part in ("--types", type)]
    outcome = cbnet("match", "--rules", tmp_path / "rules.toml", tmp_path / "t.csv", *options)
    assert (outcome.code, outcome.out.splitlines()) == (0, [first, "2: (none)", "3: (none)"])


@pytest.mark.parametrize(
    ("types", "problem"),
    [
        ("fv=int", "t.csv: no column 'fv'; columns: fw, n"),
        ("n=text", "unknown type 'text' of the column 'n'; use int, float, bool, string"),
        ("n", "--types: 'n' is not KEY=VALUE"),
    ],
)
def test_wrong_types_are_named(cbnet, rules, tmp_path, types, problem):
    (tmp_path / "t.csv").write_text(TYPED)
    outcome = cbnet("match", "--rules", rules, tmp_path / "t.csv", "--types", types)
    assert (outcome.code, outcome.out) == (2, "")
    assert problem in outcome.err


def test_csv_rows_that_cannot_be_read_are_skipped_with_their_number(cbnet, tmp_path, monkeypatch):
    monkeypatch.setattr("cbnet.matching.files.columnar_files._CSV_BYTES", 32)
    (tmp_path / "rules.toml").write_text("[rules]\nlow = 'n < 50'\n")
    rows = [*map(str, range(100)), "x,1", "y", "z", "7", "?"]
    rows[40:40] = ["1,2", "a"]
    (tmp_path / "t.csv").write_text("\n".join(["n", *rows]))
    outcome = cbnet("match", "--rules", tmp_path / "rules.toml", tmp_path / "t.csv", "--types", "n=int")
    assert (outcome.code, outcome.out.count("low")) == (2, 51)
    bad = sorted(int(number) for number in re.findall(r"t\.csv: row (\d+)", outcome.err))
    assert bad == [number for number, row in enumerate(rows, 1) if not row.isdigit()]
    hint = "column 'n': 'a' is not of the type int; state another one, such as --types n=string"
    assert f"t.csv: row 42, {hint}" in outcome.err
    printed = [int(line.partition(":")[0]) for line in outcome.out.splitlines()]
    assert printed == [number for number, row in enumerate(rows, 1) if row.isdigit()]


def test_rows_of_csv_are_counted_whatever_lines_they_have(cbnet, tmp_path):
    (tmp_path / "rules.toml").write_text("[rules]\nlow = 'n < 50'\n")
    (tmp_path / "t.csv").write_text('n,text\n1,"a\nb\nc"\n\n2,b,c\nx,d\nnan,e\n5,f\n')
    outcome = cbnet("match", "--rules", tmp_path / "rules.toml", tmp_path / "t.csv", "--types", "n=float")
    assert outcome.out == "1: low\n5: low\n"
    problems = [line.partition("t.csv: ")[2].partition(";")[0] for line in outcome.err.splitlines()[:3]]
    assert sorted(problems) == [
        "row 2 has 3 cells and not 2: '2,b,c'",
        "row 3, column 'n': 'x' is not of the type float",
        "row 4, column 'n': NaN and infinity are not values",
    ]


def test_rules_that_do_not_fit_the_columns_are_a_warning_and_strictly_an_error(cbnet, tmp_path):
    rules, log = tmp_path / "rules.jsonl", tmp_path / "log.csv"
    texts = {"old": 'fw = "1.2"', "hot": "temp > 3", "typo": "tmp > 3", "free": "absent fw", "fits": "absent dest"}
    rules.write_text("".join(json.dumps({"name": name, "when": text}) + "\n" for name, text in texts.items()))
    log.write_text("fw,temp,dest\n1.2,4,\n2.1,err,LIN\n")
    fw = f"{log}: rule old: fw = \"1.2\": the column 'fw' holds numbers, as inferred from its cells; state its type: "
    done = cbnet("match", "--rules", rules, log)
    assert (done.code, done.out) == (0, "1: fits\n2: (none)\n")
    assert done.err.splitlines()[:5] == [
        f"warning: {log}: 4 of 5 rules do not fit the columns:",
        "  rule typo: no column 'tmp'; did you mean 'temp'?",
        f"  {fw.partition(': ')[2]}--types fw=string",
        "  rule hot: temp > 3: the column 'temp' holds strings, as inferred from its cells;"
        " state its type: --types temp=float",
        "  rule free: absent fw: the column 'fw' has no nulls",
    ]
    strict = cbnet("match", "--rules", rules, log, "--strict")
    assert (strict.code, strict.out, len(strict.err.splitlines())) == (2, "", 4)
    assert f"error: {fw}--types fw=string" in strict.err.splitlines()
    stated = cbnet("match", "--rules", rules, log, "--types", "all=string")
    assert "rule hot: temp > 3: the column 'temp' holds strings\n" in stated.err  # nothing is inferred


def test_files_of_equal_columns_are_warned_of_once(cbnet, rules, write, tmp_path):
    rules.write_text('{"name": "typo", "when": "prise > 1"}\n{"name": "free", "when": "absent price"}\n')
    one, two = write(".parquet"), tmp_path / "two.parquet"
    two.write_bytes(one.read_bytes())
    done = cbnet("match", "--rules", rules, one, two, "--json")
    assert done.err.splitlines() == [
        f"warning: {one}: 2 of 2 rules do not fit the columns:",
        "  rule typo: no column 'prise'; did you mean 'price'?",
        "  rule free: absent price: the column 'price' has no nulls",
    ]
    assert "warning" not in cbnet("match", "--rules", rules, stdin=b'{"a": 1}\n').err  # lines have no columns


def test_types_of_standard_input_are_refused(cbnet, rules):
    outcome = cbnet("match", "--rules", rules, "--types", "n=int")
    assert (outcome.code, "only the columns of a CSV file have types" in outcome.err) == (2, True)


@pytest.mark.parametrize("name", ["t.parquet.gz", "t.arrow.zst", "t.arrows.bz2"])
def test_compressed_columns_are_refused(cbnet, rules, tmp_path, name):
    (tmp_path / name).write_bytes(b"x")
    assert "decompress it" in cbnet("match", "--rules", rules, tmp_path / name).err


def test_files_named_twice_count_once_and_folders_of_patterns_are_left_out(cbnet, rules, write, tmp_path):
    file = write(".csv", TRADES[:2])
    (tmp_path / "logs/2026").mkdir(parents=True)
    file.rename(tmp_path / "logs/2026/t.csv")
    once = cbnet("match", "--rules", rules, tmp_path / "logs/2026/t.csv")
    for names in (["logs/2026/t.csv", "logs/2026/*"], ["logs/**"]):
        outcome = cbnet("match", "--rules", rules, *(tmp_path / name for name in names))
        assert (outcome.code, outcome.out) == (0, once.out)
    assert "2 messages" in once.err


def test_several_files_and_patterns_are_matched_in_order(cbnet, rules, write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number, trades in enumerate((TRADES[:2], TRADES[2:5])):
        write(".csv", trades).rename(f"{number}.csv")
    alone = [cbnet("match", "--rules", rules, f"{number}.csv").out.splitlines() for number in range(2)]
    together = cbnet("match", "--rules", rules, "*.csv")
    assert together.out.splitlines() == [f"{number}.csv:{line}" for number in range(2) for line in alone[number]]
    assert "5 messages" in together.err
    rows = [json.loads(line) for line in cbnet("match", "--rules", rules, "1.csv", "0.csv", "--json").out.splitlines()]
    assert [(row["file"], row["message"]) for row in rows[:5]] == [
        *(("1.csv", number) for number in (1, 2, 3)),
        *(("0.csv", number) for number in (1, 2)),
    ]
    assert cbnet("match", "--rules", rules, "?.csv", "-o", "all.csv").code == 0
    assert len(read(tmp_path / "all.csv")) == 5
    write(".jsonl", TRADES[:1])
    mixed = cbnet("match", "--rules", rules, "0.csv", "trades.jsonl", "-o", "all.csv")
    assert (mixed.code, "trades.jsonl: its columns are not those of 0.csv" in mixed.err) == (2, True)
    assert "none*.csv: cannot read" in cbnet("match", "--rules", rules, "none*.csv").err


@pytest.mark.parametrize(("suffix", "codec"), [(".gz", "gzip"), (".bz2", "bz2"), (".zst", "zstd")])
def test_compressed_text_is_matched_as_its_content(cbnet, rules, write, tmp_path, suffix, codec):
    for kind in (".csv", ".jsonl"):
        plain = write(kind)
        packed = plain.with_name(plain.name + suffix)
        with pa.CompressedOutputStream(str(packed), codec) as file:
            file.write(plain.read_bytes())
        found = [cbnet("match", "--rules", rules, path) for path in (plain, packed)]
        assert found[0].out == found[1].out
        assert cbnet("match", "--rules", rules, packed, "--split", tmp_path / f"split{kind}").code == 0
        assert {path.suffix for path in (tmp_path / f"split{kind}").iterdir()} == {kind}
    packed.write_bytes(packed.read_bytes()[:-9])
    assert "cannot read" in cbnet("match", "--rules", rules, packed).err


def test_one_rule_is_explained_for_rows_too(cbnet, rules, write):
    outcome = cbnet("match", "--rules", rules, write(".parquet", TRADES[8:9]), "--explain", "milan")
    assert outcome.out == (
        '1: (none)\n    milan: no match; closest:\n      dest = "MXP" and price < 500: dest = "MXP" fails: dest is "ZRH"\n'
    )
    late = pa.array([3_000_000], pa.int32()).cast(pa.date32())  # after the year 9999, in a column that no rule uses
    assert cbnet("match", "--rules", rules, write(".parquet", TRADES[:1], at=late), "--explain", "cheap").code == 0
    unknown = cbnet("match", "--rules", rules, write(".parquet"), "--explain", "rome")
    assert (unknown.code, "no rule 'rome'" in unknown.err) == (2, True)


def test_an_empty_file_keeps_its_columns(cbnet, rules, write, tmp_path):
    empty = write(".parquet", TRADES[:1])
    pq.write_table(pq.read_table(empty).slice(0, 0), empty)
    assert cbnet("match", "--rules", rules, empty, "-o", tmp_path / "tagged.parquet").code == 0
    assert pq.read_schema(tmp_path / "tagged.parquet").names == ["id", "dest", "price", "rules"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--rows"], "--rows needs a file"),
        (["--column", "x"], "--column needs a file"),
        (["-o", "x.csv", "--rows", "--events"], "--rows and --events exclude each other"),
        (["-o", "x.csv", "--split", "x"], "--split and --output exclude each other"),
        (["-o", "x.csv", "--explain", "milan"], "--explain prints its results"),
        (["-o", "x.xml"], "x.xml: unknown file type '.xml'; use .parquet, .csv, .arrow, .arrows or .jsonl"),
        (["-o", "none/x.csv"], "none/x.csv: cannot write: No such file or directory"),
        (["-o", "x.csv", "--column", "price"], "the messages have a column 'price' already"),
    ],
)
def test_options_that_cannot_be_met_are_refused(cbnet, rules, write, tmp_path, monkeypatch, options, problem):
    monkeypatch.chdir(tmp_path)
    outcome = cbnet("match", "--rules", rules, write(".parquet"), *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert problem in outcome.err
    assert {path.name for path in tmp_path.iterdir()} == {"rules.jsonl", "trades.parquet"}


EVENTS = [
    {"id": 1, "n": 2, "mixed": 5, "at": {"city": "Rome"}, "legs": [{"x": 1}, {"y": "a"}], "big": 1},
    {"id": 2, "n": 0.5, "mixed": "err", "at": {"zip": [1, 2]}, "legs": [], "none": None, "big": 2**70},
    {"id": 3, "n": None, "mixed": [True, {"k": None}], "at": None, "flag": False, "#": ["a"], "empty": {}},
]


@pytest.mark.parametrize(
    ("suffix", "open_table", "is_piped"),
    [
        (".parquet", pq.ParquetFile, True),
        (".arrow", pa.ipc.open_file, False),
        (".arrows", pa.ipc.open_stream, False),
    ],
)
def test_json_lines_become_columns_that_hold_the_values_of_all_lines(
    cbnet, tmp_path, monkeypatch, suffix, open_table, is_piped
):
    monkeypatch.setattr(output_files, "_PART_BYTES", 100)
    lines, target = tmp_path / "events.jsonl", tmp_path / f"out{suffix}"
    lines.write_text("".join(json.dumps(event) + "\n" for event in EVENTS))
    (tmp_path / "rules.toml").write_text("[rules]\nlow = 'id < 3'\nhalf = 'n = 0.5'\n")
    given, stdin = ("-", lines.read_bytes()) if is_piped else (lines, b"")
    done = cbnet("match", "--rules", tmp_path / "rules.toml", given, "-o", target, stdin=stdin)
    assert (done.code, done.err) == (0, "3 messages, 3 matches, 0 bad lines\n")
    with pa.OSFile(str(target)) as file:
        opened = open_table(file)
        table = opened.read() if is_piped else opened.read_all()
    zip_type, legs = pa.list_(pa.int64()), pa.list_(pa.struct([("x", pa.int64()), ("y", pa.string())]))
    types = {
        "id": pa.int64(), "n": pa.float64(), "mixed": pa.string(), "at": pa.struct([("city", pa.string()), ("zip", zip_type)]),
        "legs": legs, "big": pa.string(), "rules": pa.list_(pa.string()), "none": pa.string(), "flag": pa.bool_(),
        "#": pa.list_(pa.string()), "empty": pa.string(),
    }  # fmt: skip
    assert {column.name: column.type for column in table.schema} == types
    assert table["n"].to_pylist() == [2.0, 0.5, None]
    assert table["mixed"].to_pylist() == ["5", "err", '[true,{"k":null}]']
    assert table["at"].to_pylist() == [{"city": "Rome", "zip": None}, {"city": None, "zip": [1, 2]}, None]
    assert table["legs"].to_pylist() == [[{"x": 1, "y": None}, {"x": None, "y": "a"}], [], None]
    assert table["big"].to_pylist() == ["1", str(2**70), None]
    assert table["rules"].to_pylist() == [["low"], ["low", "half"], []]
    assert table["#"].to_pylist() == [None, None, ["a"]]
    assert {path.name for path in tmp_path.iterdir()} == {"events.jsonl", "rules.toml", target.name}


@pytest.mark.parametrize("options", [[], ["--rows"], ["--events"]])
def test_forms_of_results_are_the_same_of_lines_and_of_columns(cbnet, rules, write, tmp_path, options):
    for source in (".jsonl", ".parquet"):
        target = tmp_path / f"of{source}.parquet"
        assert cbnet("match", "--rules", rules, write(source), "-o", target, *options).code == 0
    of_lines, of_columns = (pq.read_table(tmp_path / f"of{source}.parquet") for source in (".jsonl", ".parquet"))
    assert of_lines.equals(of_columns)


def test_failed_results_of_lines_leave_no_files(cbnet, rules, write, tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    assert cbnet("match", "--rules", rules, empty, "-o", tmp_path / "empty.csv").code == 0
    before = {*tmp_path.iterdir()}
    already = cbnet("match", "--rules", rules, write(".jsonl", TAGGED), "-o", tmp_path / "x.parquet")
    assert (already.code, "have a column 'rules' already" in already.err) == (2, True)
    assert {*tmp_path.iterdir()} - before == {tmp_path / "trades.jsonl"}


def test_a_member_named_as_the_column_of_rules_is_an_error(cbnet, rules, write, tmp_path):
    already = cbnet("match", "--rules", rules, write(".jsonl", TAGGED), "-o", tmp_path / "x.jsonl")
    assert (already.code, "have a column 'rules' already" in already.err) == (2, True)


@pytest.mark.parametrize("suffix", [".arrow", ".arrows"])
def test_a_damaged_file_is_an_error_that_names_it(cbnet, rules, write, tmp_path, suffix):
    file = write(suffix)
    file.write_bytes(file.read_bytes()[:40])
    outcome = cbnet("match", "--rules", rules, file, "-o", tmp_path / "x.parquet")
    assert outcome.code == 2
    assert outcome.err.startswith(f"error: {file}: cannot read: ")
    assert not (tmp_path / "x.parquet").exists()


def test_results_are_written_in_parts(cbnet, rules, write, tmp_path, monkeypatch):
    monkeypatch.setattr(output_files, "_PART_ROWS", 20)
    monkeypatch.setattr("cbnet.matching.row_matching.FIRST_ROWS", 10)
    monkeypatch.setattr("cbnet.matching.row_matching._MAX_ROWS", 10)
    for suffix in (".parquet", ".csv", ".arrow", ".jsonl"):
        path = tmp_path / f"tagged{suffix}"
        assert cbnet("match", "--rules", rules, write(".parquet"), "-o", path).code == 0
        assert read(path) == TAGGED
    assert pq.ParquetFile(tmp_path / "tagged.parquet").num_row_groups == 5


def test_a_file_is_never_in_memory_as_a_whole(cbnet, rules, tmp_path, monkeypatch):
    groups, rows = 50, 4000
    text = pa.array([f"{number:0500}" for number in range(rows)])  # 2 MB
    trades, held = tmp_path / "large.parquet", []
    with pq.ParquetWriter(
        trades, pa.schema([("price", pa.int64()), ("text", pa.string())]), compression="none"
    ) as writer:
        for _ in range(groups):
            writer.write_table(pa.table({"price": pa.array(range(rows)), "text": text}))
    monkeypatch.setattr(output_files, "_PART_ROWS", 4000)
    monkeypatch.setattr("cbnet.matching.files.columnar_files._ROWS", 4000)
    write = output_files.OutputFile.write

    def watched(self, part):
        held.append(pa.total_allocated_bytes() - before)
        write(self, part)

    monkeypatch.setattr(output_files.OutputFile, "write", watched)
    before = pa.total_allocated_bytes()
    assert cbnet("match", "--rules", rules, trades, "-o", tmp_path / "tagged.parquet").code == 0
    assert len(held) > groups
    assert max(held) < 30_000_000  # of the 100 MB of the file
    assert pq.ParquetFile(tmp_path / "tagged.parquet").metadata.num_rows == groups * rows
