import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import cbnet_lab.bench.matching.oracle
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.engines.registry import ENGINES
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet_lab.bench.bench_input import bench_input, parameters_of
from cbnet_lab.bench.matching.engine_rival import EngineAnswer, EngineRival
from cbnet_lab.bench.matching.oracle import expected_matches
from cbnet_lab.bench.timing import best_of_rounds, passes

KEYS = [
    "engine", "filters", "interfaces", "constraints", "build_s", "bytes_per_constraint", "us_single", "us_batch",
    "us_batch_2threads", "us_json_loads", "touched", "matched", "equal", "speedup_2threads", "speedup_2processes",
]  # fmt: skip
SMALL = ("--filters", 200, "--messages", 40, "--seconds", 0)


def silent(_):
    pass


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


def test_bench_forwarding_measures_every_engine_and_the_reference(cbnet):
    outcome = cbnet("bench", "forwarding", *SMALL, "--interfaces", 20, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    told = rows(outcome.out)
    assert [row["engine"] for row in told] == [*ENGINES, "reference"]
    assert all(list(row) == KEYS for row in told)
    assert all((row["filters"], row["interfaces"], row["equal"]) == (200, 20, True) for row in told)
    assert len({row["constraints"] for row in told}) == 1
    assert len({row["matched"] for row in told}) == 1
    measured = [row[key] for row in told[:-1] for key in KEYS[4:] if key != "equal"]
    assert min(measured) > 0


def test_f_interfaces_are_one_for_each_filter(cbnet):
    outcome = cbnet("bench", "forwarding", *SMALL, "--engine", "pivot", "--interfaces", "F", "--json")
    assert [row["interfaces"] for row in rows(outcome.out)] == [200, 200]


def test_bench_forwarding_shows_tables_to_people(cbnet):
    outcome = cbnet("bench", "forwarding", *SMALL, "--mix", "2001", "--names", 50, "--engine", "pivot")
    assert (outcome.code, outcome.err) == (0, "")
    for said in ("2001 mix, seed 0: 200 filters", "Microseconds per message", "pivot", "reference", "Speed-up with two workers",
                 "the same answers", "matched all of 40 messages"):  # fmt: skip
        assert said in outcome.out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--engine", "magic"], "unknown engine 'magic'; use one of pivot"),
        (["--mix", "1999"], "unknown mix '1999'; use one of 2002, 2001, equality"),
        (["--filters", "0"], "F must be an integer of at least 1"),
        (["--filters", "5", "--interfaces", "6"], "I = 6 interfaces cannot share F = 5 filters"),
        (["--seconds", "nan"], "--seconds must be from 0 to 3,600, not nan"),
        (["--interfaces", "f"], "--interfaces: 'f' is not a number; write a number, or F for one per filter"),
        (["--interfaces", "-3"], "--interfaces: '-3' is not a number; write a number, or F"),
        (["--messages", "0"], "must be an integer of at least 1"),
        (["--names", "5"], "there are only 5 names"),
        (["--seconds", "soon"], "Invalid value for '--seconds'"),
    ],
)
def test_a_workload_that_makes_no_sense_is_refused(cbnet, arguments, problem):
    outcome = cbnet("bench", "forwarding", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert problem in outcome.err


def test_counting_without_its_short_cuts_touches_more_postings(cbnet):
    def touched(*options):
        sizes = ("--filters", 3000, "--interfaces", 3, "--messages", 50, "--names", 20, "--seconds", 0)
        outcome = cbnet("bench", "forwarding", *sizes, "--engine", "counting", *options, "--json")
        assert (outcome.code, outcome.err) == (0, "")
        first = json.loads(outcome.out.splitlines()[0])
        assert first["equal"]
        return first["touched"]

    assert touched("--no-short-circuit", "--rounds", 0) > touched()


def test_parameters_of_the_paper_can_be_set(cbnet):
    options = ("--interfaces", 40, "--set", "f_l=2", "--set", "f_h=3", "--messages", 5, "--seconds", 0)
    outcome = cbnet("bench", "forwarding", *options, "--engine", "pivot", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.out.splitlines()[0])["filters"] == 80
    wrong = cbnet("bench", "forwarding", "--set", "f_x=3")
    assert (wrong.code, "use NAME=VALUE with M, a_l" in wrong.err) == (2, True)


def test_without_a_benchmark_the_help_lists_them(cbnet):
    assert "forwarding" in cbnet("bench").out


# --- can the check fail? ------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["2002", "2001", "equality"])
def workload(request):
    """A table small enough to ask the reference about everything."""
    sizes = {"filters": 500, "interfaces": 100, "messages": 60, "seed": 3}
    return bench_input(parameters_of(request.param, names=20, **sizes), silent)


def differing(given, right):
    """Return who does not agree with an engine that was built from these columns."""
    return list(EngineRival("pivot", given, silent).differences(right))


def test_a_right_engine_agrees_with_all(workload):
    assert differing(workload, expected_matches(workload, silent)) == []


def test_a_sample_of_messages_gets_the_answers_of_the_whole_table(workload, monkeypatch):
    answers = expected_matches(workload, silent).answers
    monkeypatch.setattr(cbnet_lab.bench.matching.oracle, "MAX_PAIRS", 0)
    sampled = expected_matches(workload, silent)
    assert (len(sampled.answers), sampled.deliveries) == (60, sum(map(len, answers.values())))
    assert sampled.answers == answers
    monkeypatch.setattr(cbnet_lab.bench.matching.oracle, "_MAX_SAMPLE_FILTERS", 0)
    assert len(expected_matches(workload, silent).answers) == 2


def test_a_filter_that_every_engine_misses_is_found_out(workload):
    right = expected_matches(workload, silent)
    interface = next(interfaces[0] for interfaces in right.answers.values() if interfaces)
    others = pa.compute.not_equal(workload.filters["rule"], interface)
    columns = columns_from_arrow(workload.filters.filter(others))
    assert differing(replace(workload, columns=columns), right) == ["the reference"]


def test_a_constraint_that_every_engine_overlooks_is_found_out(workload):
    right = expected_matches(workload, silent)
    column = workload.filters.schema.get_field_index("filter")
    apart = workload.filters.set_column(
        column, "filter", pa.array(np.arange(len(workload.filters)))
    )  # or-ed, not and-ed
    assert differing(replace(workload, columns=columns_from_arrow(apart)), right) == ["the reference"]


def test_paths_and_engines_that_differ_are_named(workload, monkeypatch):
    right = expected_matches(workload, silent)
    rival = EngineRival("pivot", workload, silent)
    answer = rival.answer
    other = EngineAnswer(answer.offsets, answer.targets[::-1].copy())
    assert list(rival.differences(right, other)) == ["the first engine"]
    monkeypatch.setattr(CompiledTable, "match", lambda *_: ["nobody"])
    assert list(rival.differences(right, answer)) == ["single messages"]
    monkeypatch.undo()
    monkeypatch.setattr(CompiledTable, "match_batch", lambda *_: (answer.offsets, answer.targets + 1, 0))
    assert list(rival.differences(right, answer)) == ["two threads"]


def test_answers_that_differ_end_with_code_1(cbnet, monkeypatch):
    monkeypatch.setattr(CompiledTable, "match", lambda *_: ["nobody"])
    outcome = cbnet("bench", "forwarding", *SMALL, "--engine", "pivot")
    assert outcome.code == 1
    assert "The answers DIFFER" in outcome.out
    assert outcome.err == "error: wrong answers: pivot differs from single messages\n"


def test_the_best_round_counts():
    durations = iter([9.0, 4.0, 2.0, 5.0, 3.0, 6.0, 7.0, 8.0])  # the first warms up
    assert best_of_rounds({"way": lambda times: next(durations) * times}, seconds=0) == {"way": 2.0}


def test_seconds_is_the_minimum_time_of_a_measurement():
    asked = []
    best_of_rounds({"way": lambda times: asked.append(times) or 0.1 * times}, seconds=0.35)
    assert asked == [1, 4, 4, 4, 4, 4, 4, 4]  # 4 passes of 0.1 s last at least 0.35


def test_work_is_repeated_as_requested():
    done = []
    assert passes(lambda: done.append(1))(3) >= 0
    assert len(done) == 3
