import pytest

from cbnet.errors import CbnetError
from cbnet.lab.bench.bench_input import bench_input
from cbnet.lab.bench.engine_answer import EngineAnswer
from cbnet.lab.experiments.timing import COUNTING, PIVOT, SELECTIVE, Contest, Matched, timed
from cbnet.lab.workload import mix
from cbnet.language.filter import Filter
from cbnet.language.message import Message

WAYS = (COUNTING, SELECTIVE, PIVOT)


@pytest.fixture(scope="module")
def given():
    return bench_input(mix("2002", filters=200, interfaces=10, messages=20), lambda _: None)


def test_there_is_a_row_for_each_way_and_turn_on_one_table():
    rows = timed(mix("2002", filters=200, interfaces=10, messages=20), WAYS, turns=2, seconds=0.0)
    assert [(row["way"], row["turn"]) for row in rows] == [(way.name, turn) for turn in (0, 1) for way in WAYS]
    assert {(row["filters"], row["interfaces"], row["messages"]) for row in rows} == {(200, 10, 20)}
    assert all(row["us"] > 0 for row in rows)


def test_what_is_matched_and_counted_is_what_brute_force_finds(given):
    messages = [Message.from_dict(members) for members in given.members]
    filters = [(given.columns.targets[place], given.columns.filter(place)) for place in range(len(given.columns))]
    pairs = {(place, int(to)) for place, m in enumerate(messages) for to, each in filters if each.matches(m)}
    rows = Contest(given, WAYS).rows(1, 0.0)
    assert all(row["matched"] == len(pairs) / 20 for row in rows)
    # without short-circuit or selectivity a posting is a constraint that holds
    held = sum(Filter([c]).matches(m) for m in messages for _, each in filters for c in each.constraints)
    plain = Contest(given, (COUNTING,)).compiled["counting"].index.index
    batch = Contest(given, (COUNTING,))._batches["counting"]
    assert plain.match_batch(batch, 0, 20, 0, False)[2]["counters"] == held


@pytest.mark.parametrize("liar", [COUNTING, PIVOT])
def test_a_wrong_answer_ends_the_run(given, liar, monkeypatch):
    contest = Contest(given, (COUNTING, PIVOT))
    honest = contest.match

    def match(way):
        found = honest(way)
        return (
            Matched(EngineAnswer(found.answer.offsets * 0, found.answer.targets[:0]), found.work)
            if way == liar
            else found
        )

    monkeypatch.setattr(contest, "match", match)
    with pytest.raises(CbnetError, match="do not agree"):
        contest.rows(1, 0.0)


def test_an_error_of_all_engines_is_found_by_the_reference(given, monkeypatch):
    contest = Contest(given, (COUNTING, PIVOT))
    monkeypatch.setattr(contest, "match", lambda _: Matched(EngineAnswer(honest.offsets * 0, honest.targets[:0]), {}))
    honest = Contest(given, (PIVOT,)).match(PIVOT).answer
    with pytest.raises(CbnetError, match="with the reference"):
        contest.rows(1, 0.0)
