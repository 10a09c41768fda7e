"""`cbnet bench compare` at a tiny size: this checkout against itself."""

import json
import sys

SMALL = ("forwarding", "--filters", 100, "--messages", 20, "--seconds", 0, "--engine", "pivot")


def test_a_checkout_is_compared_with_itself(cbnet):
    outcome = cbnet("bench", "compare", sys.executable, "--rounds", 2, "--figures", "us_single", "--json", "--", *SMALL)
    assert (outcome.code, outcome.err) == (0, "")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert [(row["row"], row["figure"]) for row in rows] == [
        ("engine pivot", "us_single"), ("engine reference", "us_single")
    ]  # fmt: skip
    for row in rows:
        assert row["ratio"] > 0
        assert min(row["spread_this"], row["spread_other"]) >= 1


def test_the_error_of_a_benchmark_is_passed_on(cbnet):
    outcome = cbnet("bench", "compare", sys.executable, "--", "forwarding", "--mix", "1999")
    assert (outcome.code, outcome.out) == (1, "")
    assert "unknown mix '1999'" in outcome.err
