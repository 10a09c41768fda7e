import json

import pytest

PREDICATES = {
    "milan": 'dest = "MXP" and price < 500 or #sale',
    "web": 'path ^= "/shop" and status >= 500',
    "all": "true",
    "none": [],
}
MESSAGES = [
    {"dest": "MXP", "price": 300},
    {"dest": "MXP", "price": 600, "#": ["sale", "new"]},
    {"path": "/shop/cart", "status": 503},
    {"url": "http://x/y", "when": "12:30:00"},
    {},
]
ROUTES = [["milan", "all"], ["milan", "all"], ["web", "all"], ["all"], ["all"]]


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


def toml(path):
    lines = [f"{name} = {json.dumps(said)}" for name, said in PREDICATES.items()]
    path.write_text("\n".join(["[rules]", *lines]))
    return path


def jsonl(path):
    said = {**PREDICATES, "none": "x = 1 and x = 2"}
    path.write_text("\n".join(json.dumps({"name": name, "when": text}) for name, text in said.items()))
    return path


def parquet(path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    constraints = [
        ("milan", 1, "dest", "=", "MXP", None), ("milan", 1, "price", "<", None, 500), ("milan", 2, "sale", "#", None, None),
        ("web", 3, "path", "^=", "/shop", None), ("web", 3, "status", ">=", None, 500), ("all", 4, None, None, None, None),
    ]  # fmt: skip
    columns = zip(*constraints, strict=True)
    names = ("rule", "filter", "name", "op", "string", "int")
    pq.write_table(pa.table({name: list(column) for name, column in zip(names, columns, strict=True)}), path)
    return path


@pytest.fixture
def source(tmp_path):
    return toml(tmp_path / "predicates.toml")


@pytest.fixture
def messages(tmp_path):
    path = tmp_path / "messages.jsonl"
    path.write_text("".join(json.dumps(message) + "\n" for message in MESSAGES))
    return path


@pytest.mark.parametrize("write", [toml, jsonl, parquet])
def test_every_form_of_predicates_compiles_and_matches_as_before(cbnet, tmp_path, messages, write):
    source, table = write(tmp_path / f"predicates.{write.__name__}"), tmp_path / "table.cbt"
    assert cbnet("compile", "--rules", source, "-o", table).code == 0
    for file in (source, table):
        outcome = cbnet("match", "--rules", file, messages, "--json")
        assert (outcome.code, [row["rules"] for row in rows(outcome.out)[:-1]]) == (0, ROUTES)


def test_compile_prints_a_summary_of_the_table(cbnet, source, tmp_path):
    table = tmp_path / "table.cbt"
    outcome = cbnet("compile", "--rules", source, "-o", table)
    # milan has 2 + 1 constraints in two filters, web has 2, all has an empty filter, none has none
    assert outcome.out.startswith(f"{table}: 4 rules, 4 filters, 5 constraints, {table.stat().st_size:,} bytes, ")
    (row,) = rows(cbnet("compile", "--rules", source, "-o", table, "--json").out)
    keys = ["rules", "filters", "covered", "constraints", "bytes", "bytes_per_constraint", "seconds"]
    assert list(row) == keys
    assert row["bytes"] == table.stat().st_size
    assert row["bytes_per_constraint"] == round(row["bytes"] / 5, 1)


def test_covered_filters_are_left_out_by_default(cbnet, tmp_path):
    source, table = tmp_path / "p.toml", tmp_path / "table.cbt"
    source.write_text("[rules]\na = 'x > 1 or x > 5'\nb = 'x > 5'\n")
    (row,) = rows(cbnet("compile", "--rules", source, "-o", table, "--json").out)
    assert (row["filters"], row["covered"]) == (3, 1)  # `x > 5` of a; b has it alone
    assert "3 filters (1 covered by others)" in cbnet("compile", "--rules", source, "-o", table).out
    (row,) = rows(cbnet("compile", "--rules", source, "-o", table, "--no-reduce", "--json").out)
    assert (row["filters"], row["covered"]) == (3, 0)


def test_a_compiled_table_compiles_again_with_its_rules(cbnet, tmp_path, messages):
    source, table, again = tmp_path / "p.jsonl", tmp_path / "table.cbt", tmp_path / "again.cbt"
    rules = [{"name": 7, "when": "true"}, {"name": "a", "when": "#sale", "priority": 3, "metadata": {"to": ["é"]}}]
    source.write_text("\n".join(map(json.dumps, rules)))
    assert cbnet("compile", "--rules", source, "-o", table).code == 0
    assert cbnet("compile", "--rules", table, "-o", again, "--engine", "counting").code == 0
    assert cbnet("match", "--rules", again, messages).out.startswith("1: 7\n2: a, 7\n")  # by priority
    for file in (source, table, again):
        (facts,) = rows(cbnet("inspect", file, "--json").out)
        assert facts["rule_details"] == [{"name": "a", "priority": 3, "metadata": {"to": ["é"]}}]


def test_the_content_of_a_table_decides_and_not_its_name(cbnet, source, tmp_path, messages):
    table = tmp_path / "table.toml.old"
    cbnet("compile", "--rules", source, "-o", table)
    assert cbnet("match", "--rules", table, messages).out.startswith("1: milan, all\n")


def test_match_explains_with_a_compiled_table(cbnet, source, tmp_path):
    table = tmp_path / "table.cbt"
    cbnet("compile", "--rules", source, "-o", table)
    line = b'{"path": "/shop/cart", "status": 404}\n'  # one filter of each rule comes closest
    from_source = cbnet("match", "--rules", source, "--explain", "all", "--json", stdin=line)
    assert rows(cbnet("match", "--rules", table, "--explain", "all", "--json", stdin=line).out) == rows(from_source.out)


def test_a_damaged_table_is_found_out_by_verify(cbnet, source, tmp_path):
    table = tmp_path / "table.cbt"
    cbnet("compile", "--rules", source, "-o", table)
    data = bytearray(table.read_bytes())
    data[-1] ^= 1
    table.write_bytes(data)
    outcome = cbnet("match", "--rules", table, "--verify", stdin=b"{}")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"error: {table}: the file is damaged: its checksum is wrong")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["none.toml", "-o", "t.cbt"], "none.toml: cannot read: No such file"),
        (["none.parquet", "-o", "t.cbt"], "none.parquet: cannot read: No such file"),
        (["bad.parquet", "-o", "t.cbt"], "bad.parquet: not a Parquet file"),
        (["predicates.xml", "-o", "t.cbt"], "unknown file type '.xml'; use .toml, .jsonl, .parquet or .cbt"),
        (["predicates.toml"], "Missing option '--output'"),
        (["predicates.toml", "-o", "t.cbt", "--engine", "magic"], "unknown engine 'magic'; use one of pivot"),
        (["predicates.toml", "-o", "nowhere/t.cbt"], "nowhere/t.cbt: there is no folder 'nowhere'"),
        (["predicates.toml", "-o", "."], "this is a folder"),
        (["predicates.toml", "-o", "predicates.toml"], "the table would overwrite its rules"),
    ],
)
def test_what_cannot_be_compiled_is_refused_in_one_line(cbnet, source, monkeypatch, arguments, problem):
    monkeypatch.chdir(source.parent)
    (source.parent / "bad.parquet").write_bytes(b"no")
    outcome = cbnet("compile", "--rules", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert problem in outcome.err
    assert len(outcome.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("table.cbt", b"[rules]", "not a compiled table; create one with `cbnet compile`"),
        ("table.cbt", None, "cannot read: No such file"),
        ("table.bin", b"", "unknown file type '.bin'; use .toml, .jsonl, .parquet or .cbt"),
        ("table.bin", b"CBNETTBL and then nothing", "the table has version"),
    ],
)
def test_match_says_what_is_wrong_with_a_table(cbnet, tmp_path, name, content, problem):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    outcome = cbnet("match", "--rules", tmp_path / name, stdin=b"")
    assert (outcome.code, outcome.out) == (2, "")
    assert problem in outcome.err


def test_a_wrong_row_of_a_parquet_file_is_named(cbnet, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"rule": ["a", "a"], "filter": [1, 1], "name": ["x", "x"], "op": ["=", "~"],
                             "int": [1, 2]}), tmp_path / "p.parquet")  # fmt: skip
    outcome = cbnet("compile", "--rules", tmp_path / "p.parquet", "-o", tmp_path / "t.cbt")
    assert (outcome.code, outcome.out) == (2, "")
    assert "p.parquet: row 2: unknown op" in outcome.err


def test_a_repeated_name_is_reported_beside_strings_with_colons(cbnet, source):
    outcome = cbnet("match", "--rules", source, stdin=b'{"url": "http://x", "a": 1, "a": 2}\n{"url": "http://x"}\n')
    assert outcome.out == "2: all\n"
    assert 'error: standard input:1:29: duplicate name "a"' in outcome.err


def test_bad_lines_are_reported_in_their_place_among_thousands(cbnet, source):
    good = b'{"dest": "MXP", "price": 300}\n'
    outcome = cbnet("match", "--rules", source, "--json", stdin=good * 9000 + b"nonsense\n" + good * 9000)
    told = rows(outcome.out)
    assert (outcome.code, len(told)) == (2, 18_002)  # with the summary
    assert told[9000]["line"] == 9001
    assert [row["message"] for row in told if "message" in row] == [*range(1, 9001), *range(9002, 18_002)]
    assert all(row["rules"] == ["milan", "all"] for row in told if "message" in row)
