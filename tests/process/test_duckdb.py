"""Relations of DuckDB are data frames. A process of its own: DuckDB's binding reports leaks at the end of one."""

import json
import subprocess
import sys

from support.rule_order import MESSAGES, expected, rule_lines

PROGRAM = """
import json, sys
import duckdb
import pyarrow as pa
from cbnet import Table

table, messages = Table.open(sys.argv[1]), pa.Table.from_pylist(json.load(sys.stdin))
other = Table.build({"one": "x = 1", "on": 'detail.state = "on"', "new": 'at >= "2026-01-02"'})
types = duckdb.sql("select {'state': 'on'} as detail, date '2026-05-05' as at, 1.0::decimal(9, 2) as x")
frames = [(table, duckdb.from_arrow(messages)), (other, types)]
print(json.dumps([table.match_frame(frame).to_pylist() for table, frame in frames]))
"""


def test_relations_are_matched_row_by_row_in_the_order_of_rules(tmp_path):
    rules = tmp_path / "rules.jsonl"
    rules.write_text(rule_lines(numbered=False))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(rules)], input=json.dumps(MESSAGES), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    matched, types = json.loads(done.stdout)
    assert matched == expected(numbered=False)
    assert types == [["one", "on", "new"]]
