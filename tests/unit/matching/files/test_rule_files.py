"""Every kind of rule file opens as the same table."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cbnet import InputError, Rule, Table, parse
from cbnet.errors import TableFileError
from cbnet.matching.files.rule_files import open_rule_file, read_columns

MESSAGE = {"dest": "MXP", "price": 300}


def toml(path):
    path.write_text("[rules]\nmilan = 'dest = \"MXP\"'\n[rules.cheap]\nwhen = 'price < 500'\npriority = 7\n")


def jsonl(path):
    rows = ['{"name": "milan", "when": "dest = \\"MXP\\""}', '{"name": "cheap", "when": "price < 500", "priority": 7}']
    path.write_text("\n".join(rows))


def parquet(path):
    columns = {"rule": ["milan", "cheap"], "filter": [1, 2], "name": ["dest", "price"], "op": ["=", "<"],
               "string": ["MXP", None], "int": [None, 500]}  # fmt: skip
    pq.write_table(pa.table(columns), path)


def cbt(path):
    predicates = {"milan": 'dest = "MXP"', "cheap": "price < 500"}
    Table.build(predicates, rules=[Rule("cheap", 7)]).save(path)


@pytest.fixture(params=[toml, jsonl, parquet, cbt])
def path(request, tmp_path):
    path = tmp_path / f"rules.{request.param.__name__}"
    request.param(path)
    return path


def test_a_table_opens_from_every_kind_of_file(path):
    for verify in (False, True):
        table = Table.open(str(path), verify=verify)
        assert list(table) == ["milan", "cheap"]
        # by priority, which Parquet files have none of
        assert table.match(MESSAGE) == (["milan", "cheap"] if path.suffix == ".parquet" else ["cheap", "milan"])
        assert (table["milan"], table["cheap"]) == (parse('dest = "MXP"'), parse("price < 500"))
        assert table.rule("milan") == Rule("milan")
        assert table.rule("cheap") == Rule("cheap", 0 if path.suffix == ".parquet" else 7)


def test_the_predicates_and_filters_of_every_kind_of_file_are_the_same(path):
    assert open_rule_file(path).predicates == {"milan": parse('dest = "MXP"'), "cheap": parse("price < 500")}
    columns, rules = read_columns(path)
    assert (len(columns), columns.interfaces) == (2, ["milan", "cheap"])
    assert rules == ([] if path.suffix == ".parquet" else [Rule("cheap", 7)])


@pytest.mark.parametrize("name", ["rules.yaml", "rules.yml", "rules.txt", "rules"])
@pytest.mark.parametrize("read", [Table.open, open_rule_file, read_columns])
def test_other_file_types_are_refused_with_the_supported_ones(tmp_path, name, read):
    path = tmp_path / name
    path.write_text("rules:\n  a: x = 1\n")
    with pytest.raises(InputError, match=r"unknown file type .*; use \.toml, \.jsonl, \.parquet or \.cbt$"):
        read(path)


def test_the_content_of_a_compiled_table_decides_and_not_its_name(tmp_path):
    cbt(tmp_path / "rules.toml")
    assert Table.open(tmp_path / "rules.toml").match(MESSAGE) == ["cheap", "milan"]
    (tmp_path / "rules.cbt").write_text("[rules]\na = 'true'\n")
    with pytest.raises(TableFileError, match="not a compiled table"):
        Table.open(tmp_path / "rules.cbt")


def test_an_unknown_dialect_is_an_error_of_the_caller(tmp_path):
    toml(tmp_path / "rules.toml")
    with pytest.raises(InputError, match="unknown dialect 'klingon'"):
        Table.open(tmp_path / "rules.toml", dialect="klingon")


@pytest.mark.parametrize("read", [Table.open, open_rule_file, read_columns])
def test_only_text_has_a_dialect(tmp_path, read):
    cbt(tmp_path / "rules.cbt")
    with pytest.raises(InputError, match="a compiled table has no dialect"):
        read(tmp_path / "rules.cbt", dialect="eventbridge")
    with pytest.raises(InputError, match="a Parquet file of rules has no dialect"):
        read(tmp_path / "rules.parquet", dialect="eventbridge")


@pytest.mark.parametrize(("name", "problem"), [("r.toml", "no table of rules"), ("r.jsonl", "no rules")])
@pytest.mark.parametrize("text", ["", "\n \n"])
def test_a_file_without_rules_is_refused(tmp_path, name, problem, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=problem):
        Table.open(tmp_path / name)
