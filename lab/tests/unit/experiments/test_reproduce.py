import json
import re
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from cbnet.errors import CbnetError, InputError
from cbnet_lab.experiments.claim import Finding, claims
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Parameters
from cbnet_lab.experiments.page import all_findings, run_facts
from cbnet_lab.experiments.reproduce import code_fingerprint, reproduce, stored_outcome

CLAIM = 46  # of bridges; it has simple metrics


class Squares:
    """An experiment that counts its runs."""

    def __init__(self, name="2001-squares", inputs=()):
        self.runs = 0
        scales = {scale: Parameters(count=count) for scale, count in (("quick", 3), ("full", 30), ("paper", 300))}
        chart = {"name": "squares", "title": "Squares", "x": "number", "y": "square"}
        self.experiment = Experiment(
            name, "Squares", "§1", (CLAIM,), scales, self.run, self.metrics, chart_declarations=(chart,), inputs=inputs
        )

    def run(self, parameters, context):
        self.runs += 1
        self.context = context
        numbers = range(parameters.count)
        return {"squares": [{"number": n, "square": n * n + context.seed} for n in numbers]}

    def metrics(self, rows, parameters):
        return {"bridges": parameters.count, "bridge_routers": rows["squares"][-1]["square"], "distinguishing": 0}


def run(squares, out, scale="quick", **context):
    return list(reproduce([each.experiment for each in squares], scale, out, ExperimentContext(**context)))


def test_results_are_stored_with_a_manifest(tmp_path):
    [outcome] = run([Squares()], tmp_path, seed=7)
    folder = tmp_path / "2001-squares"
    assert pq.read_table(folder / "squares.parquet").to_pydict() == {"number": [0, 1, 2], "square": [7, 8, 11]}
    manifest = json.loads((folder / "_cbnet.json").read_text())
    assert manifest["parameters"] == {"count": 3}
    assert (manifest["scale"], manifest["seed"], manifest["tables"]) == ("quick", 7, {"squares": 3})
    assert {"machine", "version", "seconds", "fingerprint"} <= set(manifest)
    ours = "3 sides of bridges: 0 of 11 routers distinguish sources"
    assert outcome.findings == (Finding(CLAIM, ours, "holds", rule=claims()[CLAIM].rule),)


def test_stored_results_are_reused(tmp_path):
    squares = Squares()
    first = run([squares], tmp_path)
    second = run([squares], tmp_path)
    assert squares.runs == 1
    assert [outcome.reused for outcome in first + second] == [False, True]
    assert first[0].findings == second[0].findings


@pytest.mark.parametrize("change", [{"seed": 1}, {"scale": "full"}])
def test_changed_seed_or_scale_runs_again(tmp_path, change):
    squares = Squares()
    run([squares], tmp_path)
    run([squares], tmp_path, **change)
    assert squares.runs == 2


def test_changed_input_runs_only_experiments_that_use_it(tmp_path):
    (tmp_path / "a.edges").write_text("1 2\n")
    other, user = Squares(), Squares("2001-graphs", ("topology",))
    run([other, user], tmp_path / "out")
    run([other, user], tmp_path / "out", topology=tmp_path / "a.edges")
    assert (other.runs, user.runs) == (1, 2)
    (tmp_path / "a.edges").write_text("1 2\n2 3\n")
    run([other, user], tmp_path / "out", topology=tmp_path / "a.edges")
    assert (other.runs, user.runs) == (1, 3)


def test_changed_kernel_runs_again(tmp_path, monkeypatch):
    kernel = tmp_path / "cbnet" / "_kernels" / "pivot_match.cpython-311-x86_64-linux-gnu.so"
    kernel.parent.mkdir(parents=True)
    kernel.write_bytes(b"\x7fELF 1")
    monkeypatch.setattr(
        "cbnet_lab.experiments.reproduce.code_fingerprint", lambda: code_fingerprint(tmp_path / "cbnet")
    )
    squares = Squares()
    run([squares], tmp_path / "out")
    run([squares], tmp_path / "out")
    assert squares.runs == 1
    kernel.write_bytes(b"\x7fELF 2")  # the same size
    run([squares], tmp_path / "out")
    assert squares.runs == 2


def test_code_fingerprint_covers_sources_and_kernels_but_no_byte_code(tmp_path):
    before = code_fingerprint(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "table.cpython-311.pyc").write_bytes(b"1")
    assert code_fingerprint(tmp_path) == before
    fingerprints = {before}
    for name in ("table.py", "pivot_match.pyx", "pivot_match.so", "experiments.toml"):
        (tmp_path / name).write_bytes(b"1")
        fingerprints.add(code_fingerprint(tmp_path))
    assert len(fingerprints) == 5
    (tmp_path / "claims.toml").write_bytes(b"1")  # a changed threshold needs no new run
    assert code_fingerprint(tmp_path) in fingerprints


def test_interrupted_run_is_repeated(tmp_path):
    squares = Squares()
    run([squares], tmp_path)
    (tmp_path / "2001-squares" / "_cbnet.json").unlink()
    run([squares], tmp_path)
    assert squares.runs == 2


def test_experiment_that_cannot_run_leaves_its_claims_open_and_the_next_runs(tmp_path):
    def fails(_parameters, _context):
        raise CbnetError("there is no such graph")

    broken = replace(Squares().experiment, measure=fails, claims=(3, 4))
    other = Squares("2001-others")
    first, second = reproduce([broken, other.experiment], "quick", tmp_path, ExperimentContext())
    assert first.error == "there is no such graph"
    assert first.findings == tuple(Finding(claim, "-", "open", "there is no such graph", "run") for claim in (3, 4))
    assert second.error is None
    assert stored_outcome(broken, tmp_path) is None
    assert stored_outcome(other.experiment, tmp_path).findings == second.findings


def test_spark_error_becomes_an_outcome(tmp_path):
    lost = type("PythonException", (Exception,), {"__module__": "pyspark.errors"})

    def fails(_parameters, _context):
        raise lost("a worker was lost\nat line 1 of many")

    [outcome] = reproduce([replace(Squares().experiment, measure=fails)], "quick", tmp_path, ExperimentContext())
    assert outcome.error == "Spark failed: a worker was lost"


def test_bug_in_an_experiment_is_raised(tmp_path):
    def fails(_parameters, _context):
        raise KeyError("names")

    with pytest.raises(KeyError):
        list(reproduce([replace(Squares().experiment, measure=fails)], "quick", tmp_path, ExperimentContext()))


def test_damaged_results_are_an_input_error(tmp_path):
    run([Squares()], tmp_path)
    (tmp_path / "2001-squares" / "squares.parquet").write_text("nothing")
    with pytest.raises(InputError, match="delete this folder"):
        run([Squares()], tmp_path)
    (tmp_path / "2001-squares" / "_cbnet.json").write_text("{}")
    with pytest.raises(InputError, match="delete its folder"):
        run([Squares()], tmp_path)


def test_missing_input_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        run([Squares()], tmp_path, topology=tmp_path / "none")


def test_each_claim_has_a_finding(tmp_path):
    outcomes = run([Squares()], tmp_path)
    found = all_findings(outcomes)
    assert [finding.claim for finding in found] == list(claims())
    by_tests = {number for number, claim in claims().items() if claim.tests}
    assert {finding.claim for finding in found if finding.verdict != "open"} == {CLAIM, *by_tests}


def test_experiment_gets_only_the_inputs_that_it_declares(tmp_path):
    (tmp_path / "links.txt").write_text("a b\n")
    squares = Squares(inputs=("topology",))
    run([squares], tmp_path / "out", topology=tmp_path / "links.txt", traces=tmp_path)
    assert (squares.context.topology, squares.context.traces) == (tmp_path / "links.txt", None)


def test_page_opens_with_scale_data_and_date(tmp_path):
    (tmp_path / "links.txt").write_text("a b\n")
    experiment = replace(Squares().experiment, inputs=("topology",))
    context = ExperimentContext(topology=tmp_path / "links.txt")
    outcomes = list(reproduce([experiment], "quick", tmp_path / "out", context))
    facts = run_facts(outcomes)
    assert list(facts)[:4] == ["Scale", "Internet graph", "User traces", "Date"]
    assert facts["Scale"].startswith("quick: small sizes")
    assert facts["Internet graph"] == "links.txt"
    assert facts["User traces"] == "unknown"  # no experiment of the run uses them
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", facts["Date"])
