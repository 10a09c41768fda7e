"""Spark returns the same rules in the same order as every other front; see `tests/conformance/test_rule_order.py`."""

from collections import defaultdict

import pytest
from support.rule_order import MESSAGES, RULES, expected, rule_lines

import cbnet
from cbnet import Table
from cbnet.spark import read_rule


@pytest.fixture(scope="module")
def rule_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("rules") / "rules.jsonl"
    path.write_text(rule_lines())
    return path


@pytest.fixture
def messages(spark):
    return spark.createDataFrame([(each["id"], each["x"]) for each in MESSAGES], "id int, x bigint").coalesce(1)


def by_message(rows):
    found = defaultdict(list)
    for row in rows:
        found[row.id].append(row.rule)
    return [found[each["id"]] for each in MESSAGES]


def test_rows_and_arrays_are_in_order(spark, messages, rule_file):
    table = Table.open(rule_file)
    matched = cbnet.spark.match(messages, table, key="id")
    assert matched.columns == ["id", "rule"]
    assert by_message(matched.collect()) == expected()
    messages.createOrReplaceTempView("ordered")
    cbnet.spark.register(spark, "rules_of", table, key="id int")
    arrays = spark.sql("SELECT id, rules_of(struct(*)) AS rules FROM ordered").collect()
    assert [row.rules for row in sorted(arrays)] == expected()
    assert by_message(spark.sql("SELECT id, rule FROM rules_of(TABLE(ordered))").collect()) == expected()


def test_command_names_rules(spark, cbnet, messages, rule_file, tmp_path):
    messages.write.parquet(f"{tmp_path}/messages")
    out = f"{tmp_path}/out"
    table = tmp_path / "rules.cbt"
    Table.open(rule_file).save(table)
    outcome = cbnet("spark", "match", "--rules", table, f"{tmp_path}/messages", "-o", out, "--select", "id")
    assert outcome.code == 0, outcome.err
    for name, *_ in RULES:
        rows = read_rule(spark, out, name).collect()
        assert {(row.id, row.rule) for row in rows} == {(id, name) for id, own in enumerate(expected()) if name in own}
