import json

import numpy as np
import pyarrow.compute as pc
import pytest

import cbnet_lab.bench.bench_input as inputs
import cbnet_lab.bench.matching.oracle as expected
import cbnet_lab.bench.matching.tags as bench
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.engines.registry import TAG_ENGINES
from cbnet_lab.bench.bench_input import input_of
from cbnet_lab.bench.matching.engine_rival import EngineAnswer
from cbnet_lab.bench.matching.oracle import expected_matches
from cbnet_lab.workload.message_batch import as_messages
from cbnet_lab.workload.tag_traffic import TagTraffic

KEYS = [
    "table", "descriptors", "interfaces", "us_single", "us_batch", "bytes_per_descriptor", "false_positives", "equal",
    "us_json_loads", "matched", "hashes", "by_tags",
]  # fmt: skip
RATES = [
    "tags", "messages", "predicted_per_descriptor", "measured_per_descriptor", "predicted_per_predicate",
    "measured_per_predicate",
]  # fmt: skip
SMALL = ("--messages", 60, "--seconds", 0)


def silent(_):
    pass


def test_bench_tags_measures_every_table(cbnet):
    outcome = cbnet("bench", "tags", "--descriptors", "300,700", *SMALL, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    told = [json.loads(line) for line in outcome.out.splitlines()]
    runs = [(300, 300), (300, 100), (700, 700), (700, 100)]
    assert [(row["table"], row["descriptors"], row["interfaces"]) for row in told] == [
        (table, *run) for run in runs for table in ("tags", "bloom", "pivot")
    ]
    assert all(list(row) == KEYS for row in told)
    assert all(row["equal"] for row in told)
    assert all(min(row["us_single"], row["us_batch"], row["bytes_per_descriptor"]) > 0 for row in told)
    for row in told:
        if row["table"] == "bloom":
            assert [list(rates) for rates in row["by_tags"]] == [RATES] * len(row["by_tags"])
            assert sum(rates["messages"] for rates in row["by_tags"]) == 60
            assert row["hashes"] == 19  # the best for messages of 4 to 15 tags
        else:
            assert (row["false_positives"], row["by_tags"]) == (0, None)


def test_bench_tags_shows_tables_to_people(cbnet):
    outcome = cbnet("bench", "tags", "--descriptors", "300", "--interfaces", "20", *SMALL)
    assert (outcome.code, outcome.err) == (0, "")
    for said in ("300 descriptors, 20 interfaces", "Microseconds per message", "pivot", "with 19 hashes",
                 "bloom misses nothing", "The reference matched all of 60 messages"):  # fmt: skip
        assert said in " ".join(outcome.out.split())


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--descriptors", "ten"], "--descriptors: 'ten' is not a number; write numbers separated by commas"),
        (["--descriptors", "10,"], "--descriptors: '' is not a number"),
        (["--seconds", "inf"], "--seconds must be from 0 to 3,600, not inf"),
        (["--seconds", "-1"], "--seconds must be from 0 to 3,600, not -1"),
        (["--interfaces", "all"], "--interfaces: 'all' is not a number"),
        (["--descriptors", "0"], "descriptors must be an integer of at least 1"),
        (["--descriptors", "10", "--interfaces", "F,20"], "I = 20 interfaces cannot share F = 10 filters"),
        (["--messages", "0"], "messages must be an integer of at least 1"),
    ],
)
def test_a_workload_that_makes_no_sense_is_refused_before_anything_is_run(cbnet, arguments, problem):
    outcome = cbnet("bench", "tags", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert problem in outcome.err


@pytest.mark.parametrize("most", [0, 1_000_000])
def test_the_reference_checks_whole_answers(monkeypatch, most):
    traffic = TagTraffic(400, 30, messages=40, tags=50, seed=1)
    filters, members = traffic.filters(), as_messages(traffic.message_batch())
    monkeypatch.setattr(expected, "MAX_PAIRS", most)
    found = expected_matches(input_of(filters, traffic.message_batch(), silent), silent)
    assert len(found.answers) == 40
    rows = zip(*(filters[name].to_pylist() for name in ("rule", "filter", "name")), strict=True)
    sets = {}
    for interface, filter, tag in rows:
        sets.setdefault((interface, filter), set()).add(tag)
    for place, answer in found.answers.items():
        tags = set(members[place]["#"])
        assert answer == sorted({interface for (interface, _), own in sets.items() if own <= tags})


# --- can the check fail? ------------------------------------------------------------------------


def test_a_table_that_misses_an_interface_is_found_out(cbnet, monkeypatch):
    match_batch = CompiledTable.match_batch

    def missing(self, batch, threads=1):
        offsets, targets, touched = match_batch(self, batch, threads)
        if self.engine != "bloom":
            return offsets, targets, touched
        last = np.flatnonzero(np.diff(offsets))[-1]  # the last message that goes anywhere
        return np.append(offsets[: last + 1], offsets[last + 1 :] - 1), targets[:-1], touched

    monkeypatch.setattr(CompiledTable, "match_batch", missing)
    outcome = cbnet("bench", "tags", "--descriptors", "300", "--interfaces", "F", *SMALL)
    assert outcome.code == 1
    assert "The answers DIFFER" in outcome.out
    assert "bloom differs from tags, whose answers it should contain" in outcome.err


def test_a_table_that_adds_an_interface_is_found_out(cbnet, monkeypatch):
    match = CompiledTable.match
    monkeypatch.setattr(CompiledTable, "match", lambda self, message: [*match(self, message), "nobody"])
    outcome = cbnet("bench", "tags", "--descriptors", "300", "--interfaces", "F", *SMALL, "--json")
    assert outcome.code == 1
    told = [json.loads(line) for line in outcome.out.splitlines()]
    assert [row["equal"] for row in told[:3]] == [False] * 3
    assert "tags differs from single messages" in told[3]["error"]


def test_the_reference_detects_tables_that_are_wrong_in_the_same_way(cbnet, monkeypatch):
    columns_from_arrow = inputs.columns_from_arrow
    monkeypatch.setattr(
        inputs,
        "columns_from_arrow",
        lambda filters: columns_from_arrow(filters.filter(pc.not_equal(filters["name"], "t0"))),
    )
    outcome = cbnet("bench", "tags", "--descriptors", "300", "--interfaces", "100", *SMALL)
    assert outcome.code == 1
    assert "tags differs from the reference" in outcome.err


def test_one_answer_is_within_another_by_message():
    few, many = EngineAnswer(np.array([0, 1, 1]), np.array([4])), EngineAnswer(np.array([0, 2, 3]), np.array([1, 4, 7]))
    none = EngineAnswer(np.array([0, 0, 0]), np.array([], int))
    assert bench.is_within(few, many)
    assert bench.is_within(none, few)
    assert not bench.is_within(many, few)
    assert not bench.is_within(few, none)
    assert not bench.is_within(EngineAnswer(np.array([0, 0, 1]), np.array([4])), many)  # 4 is of the other message


# --- the other commands -------------------------------------------------------------------------


@pytest.mark.parametrize("engine", TAG_ENGINES)
def test_tag_tables_are_compiled_matched_and_inspected(cbnet, tmp_path, engine):
    source, table = tmp_path / "p.toml", tmp_path / "t.cbt"
    source.write_text("[rules]\na = '#x and #y or #z'\nb = '#z or #z and #y'\nc = 'true'\n")
    assert cbnet("compile", "--rules", source, "-o", table, "--engine", engine).code == 0
    lines = b'{"#": ["z"]}\n{"#": ["x", "y"], "price": 3}\n{}\n'
    told = cbnet("match", "--rules", table, "--json", stdin=lines).out.splitlines()
    assert [json.loads(line)["rules"] for line in told[:-1]] == [["a", "b", "c"], ["a", "c"], ["c"]]
    said = json.loads(cbnet("inspect", table, "--json").out)
    assert (said["engine"], said["filters"], said["constraints"]) == (engine, 5, 6)
    assert said["filter_kinds"] == {"always": 1, "single": 2, "other": 2}
    assert said["reduction"]["covered"] == 1
    assert said["distinct"] == {"names": 0, "tags": 3, "numbers": 0, "strings": 0, "sets": 0, "conditions": 0}
    assert sum(row["bytes"] for row in said["parts"]) == table.stat().st_size
    assert not any("_" in row["part"] for row in said["parts"])  # every array has a name for people
    assert cbnet("inspect", table).code == 0


@pytest.mark.parametrize("engine", TAG_ENGINES)
def test_a_constraint_is_refused_before_a_tag_table_is_written(cbnet, tmp_path, engine):
    source, table = tmp_path / "p.toml", tmp_path / "t.cbt"
    source.write_text("[rules]\na = '#x'\nmilan = 'price < 500 and #x'\n")
    outcome = cbnet("compile", "--rules", source, "-o", table, "--engine", engine)
    assert (outcome.code, table.exists()) == (2, False)
    assert "rule 'milan': the filter `price < 500 and #x` has a constraint" in outcome.err
    assert "use the engine pivot" in outcome.err


def test_the_forwarding_benchmark_has_no_engines_for_tags_only(cbnet):
    outcome = cbnet("bench", "forwarding", "--engine", "tags")
    assert (outcome.code, outcome.err) == (2, "error: unknown engine 'tags'; use one of pivot, counting\n")
