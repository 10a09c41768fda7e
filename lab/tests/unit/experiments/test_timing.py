import pytest

from cbnet.errors import CbnetError
from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet_lab.bench.bench_input import bench_input
from cbnet_lab.bench.matching.engine_rival import EngineAnswer
from cbnet_lab.experiments.timing import COUNTING, PIVOT, SELECTIVE, TimedComparison
from cbnet_lab.workload import mix

METHODS = (COUNTING, SELECTIVE, PIVOT)


@pytest.fixture(scope="module")
def data():
    return bench_input(mix("2002", filters=200, interfaces=10, messages=20), lambda _: None)


def test_rows_cover_each_method_and_turn(data):
    rows = TimedComparison(data, METHODS).rows(turns=2, seconds=0.0)
    assert [(row["method"], row["turn"]) for row in rows] == [
        (method.name, turn) for turn in (0, 1) for method in METHODS
    ]
    assert {(row["filters"], row["interfaces"], row["messages"]) for row in rows} == {(200, 10, 20)}
    assert all(row["us"] > 0 for row in rows)


def test_match_and_counter_totals_equal_brute_force(data):
    messages = [Message.from_dict(members) for members in data.members]
    filters = [(data.columns.targets[row], data.columns.filter(row)) for row in range(len(data.columns))]
    pairs = {(number, int(to)) for number, m in enumerate(messages) for to, each in filters if each.matches(m)}
    rows = TimedComparison(data, METHODS).rows(1, 0.0)
    assert all(row["matched"] == len(pairs) / 20 for row in rows)
    # without short-circuit or selectivity a posting is a constraint that holds
    held = sum(Filter([c]).matches(m) for m in messages for _, each in filters for c in each.constraints)
    plain = TimedComparison(data, (COUNTING,)).compiled["counting"].index.index
    batch = TimedComparison(data, (COUNTING,))._batches["counting"]
    assert plain.match_batch(batch, 0, 20, 0, False)[2]["counters"] == held


@pytest.mark.parametrize("wrong_method", [COUNTING, PIVOT])
def test_engines_that_disagree_end_the_run(data, wrong_method, monkeypatch):
    comparison = TimedComparison(data, (COUNTING, PIVOT))
    original = comparison.match

    def match(method):
        answer, work = original(method)
        return (EngineAnswer(answer.offsets * 0, answer.targets[:0]) if method == wrong_method else answer), work

    monkeypatch.setattr(comparison, "match", match)
    with pytest.raises(CbnetError, match="engines disagree"):
        comparison.rows(1, 0.0)


def test_error_of_all_engines_is_outcome_by_the_reference(data, monkeypatch):
    comparison = TimedComparison(data, (COUNTING, PIVOT))
    monkeypatch.setattr(comparison, "match", lambda _: (EngineAnswer(right.offsets * 0, right.targets[:0]), {}))
    right, _ = TimedComparison(data, (PIVOT,)).match(PIVOT)
    with pytest.raises(CbnetError, match="disagrees with the reference"):
        comparison.rows(1, 0.0)
