import pytest

from cbnet.lab.experiments.experiment import Context
from cbnet.lab.experiments.y2006 import monte_carlo
from cbnet.lab.experiments.y2006.advantage import general, specific
from cbnet.lab.experiments.y2006.advantage_spark import general_on_spark, specific_on_spark


class Frame:
    """As much of a DataFrame as is asked for: rows, gathered without Spark."""

    def __init__(self, rows):
        self.rows = rows

    def toArrow(self):  # noqa: N802
        import pyarrow as pa

        return pa.Table.from_pylist(self.rows)


def drawn(draws, counts, sets):
    """Return what `monte_carlo` would draw, by its own functions, one set after the other."""
    return [
        {"scenario": name, "rule": rule, "predicates": count, "advantage": advantage}
        for name, draw in draws.items()
        for number in range(sets)
        for rule, curve in draw(number).items()
        for count, advantage in zip(counts, curve, strict=True)
    ]


@pytest.fixture
def without_spark(monkeypatch):
    import numpy as np

    def percentiles(rows):
        groups = {}
        for row in rows:
            groups.setdefault((row["scenario"], row["rule"], row["predicates"]), []).append(row["advantage"])
        return Frame(
            [
                {"predicates": count, "rule": rule, "scenario": scenario, "sets": len(values)}
                | {name: float(np.percentile(values, 100 * q)) for name, q in monte_carlo.PERCENTILES.items()}
                for (scenario, rule, count), values in sorted(groups.items(), reverse=True)  # in any order
            ]
        )

    monkeypatch.setattr(monte_carlo, "_advantages", lambda _, draws, counts, sets: drawn(draws, counts, sets))
    monkeypatch.setattr(monte_carlo, "advantage_percentiles", percentiles)
    return Context(seed=5, spark=lambda: None)


def test_the_tables_are_those_of_a_run_without_spark(without_spark):
    assert general_on_spark(without_spark, (200, 100), 3).equals(general((200, 100), sets=3, seed=5, processes=1))
    counts = (1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20)
    assert specific_on_spark(without_spark, counts, 3, None).equals(specific(sets=3, most=20, seed=5, processes=1))
