import json
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cbnet.errors import CbnetError, InputError
from cbnet.lab.experiments.claim import Finding, claims
from cbnet.lab.experiments.experiment import Context, Experiment
from cbnet.lab.experiments.page import findings_of_all, reproduction_page
from cbnet.lab.experiments.reproduce import reproduce, stored
from cbnet.lab.report.chart import Chart


@dataclass(frozen=True)
class Parameters:
    most: int


class Squares:
    """An experiment that counts how often it is run."""

    def __init__(self, name="2001-squares", claim=1, inputs=()):
        self.runs = 0
        scales = {"quick": Parameters(3), "full": Parameters(30), "paper": Parameters(300)}
        self.experiment = Experiment(
            name, "Squares", "2001", "§1", (claim,), scales, self.run, self.findings, self.charts, (), inputs
        )

    def run(self, parameters, context):
        self.runs += 1
        numbers = range(parameters.most)
        return {"squares": pa.table({"number": list(numbers), "square": [n * n + context.seed for n in numbers]})}

    def findings(self, tables, parameters):
        last = tables["squares"]["square"][-1].as_py()
        return [Finding(claim, f"{last} of {parameters.most}", "holds") for claim in self.experiment.claims]

    def charts(self, tables, _parameters):
        return [Chart("squares", "Squares", tables["squares"], "number", "square")]


def run(squares, out, scale="quick", **context):
    return list(reproduce([each.experiment for each in squares], scale, out, Context(**context)))


def test_results_are_kept_with_what_made_them(tmp_path):
    [outcome] = run([Squares()], tmp_path, seed=7)
    folder = tmp_path / "2001-squares"
    assert pq.read_table(folder / "squares.parquet").to_pydict() == {"number": [0, 1, 2], "square": [7, 8, 11]}
    about = json.loads((folder / "_cbnet.json").read_text())
    assert about["parameters"] == {"most": 3}
    assert (about["scale"], about["seed"], about["tables"]) == ("quick", 7, {"squares": 3})
    assert {"machine", "version", "seconds", "fingerprint"} <= set(about)
    assert (folder / "squares.svg").read_text().startswith("<svg")
    assert (folder / "squares.png").read_bytes().startswith(b"\x89PNG")
    assert outcome.findings == (Finding(1, "11 of 3", "holds"),)


def test_what_is_there_is_not_run_again(tmp_path):
    squares = Squares()
    first = run([squares], tmp_path)
    second = run([squares], tmp_path)
    assert squares.runs == 1
    assert [outcome.was_there for outcome in first + second] == [False, True]
    assert first[0].findings == second[0].findings


@pytest.mark.parametrize("change", [{"seed": 1}, {"scale": "full"}])
def test_what_would_come_out_otherwise_is_run_again(tmp_path, change):
    squares = Squares()
    run([squares], tmp_path)
    run([squares], tmp_path, **change)
    assert squares.runs == 2


def test_only_an_input_that_an_experiment_looks_at_makes_it_run_again(tmp_path):
    (tmp_path / "a.edges").write_text("1 2\n")
    blind, looking = Squares(), Squares("2001-graphs", 2, ("topology",))
    run([blind, looking], tmp_path / "out")
    run([blind, looking], tmp_path / "out", topology=tmp_path / "a.edges")
    assert (blind.runs, looking.runs) == (1, 2)
    (tmp_path / "a.edges").write_text("1 2\n2 3\n")
    run([blind, looking], tmp_path / "out", topology=tmp_path / "a.edges")
    assert (blind.runs, looking.runs) == (1, 3)


def test_a_run_that_was_cut_off_is_made_anew(tmp_path):
    squares = Squares()
    run([squares], tmp_path)
    (tmp_path / "2001-squares" / "_cbnet.json").unlink()
    run([squares], tmp_path)
    assert squares.runs == 2


def test_what_cannot_be_run_leaves_its_claims_open_and_the_rest_goes_on(tmp_path):
    def fails(_parameters, _context):
        raise CbnetError("there is no such graph")

    broken = replace(Squares().experiment, run=fails, claims=(3, 4))
    other = Squares("2001-others", 5)
    first, second = reproduce([broken, other.experiment], "quick", tmp_path, Context())
    assert first.error == "there is no such graph"
    assert first.findings == tuple(Finding(claim, "-", "open", "there is no such graph") for claim in (3, 4))
    assert second.error is None
    assert stored(broken, tmp_path) is None
    assert stored(other.experiment, tmp_path).findings == second.findings


def test_where_spark_gives_up_the_rest_goes_on(tmp_path):
    lost = type("PythonException", (Exception,), {"__module__": "pyspark.errors"})

    def fails(_parameters, _context):
        raise lost("a worker was lost\nat line 1 of many")

    [outcome] = reproduce([replace(Squares().experiment, run=fails)], "quick", tmp_path, Context())
    assert outcome.error == "Spark gave up: a worker was lost"


def test_a_mistake_of_ours_is_not_hidden(tmp_path):
    def fails(_parameters, _context):
        raise KeyError("names")

    with pytest.raises(KeyError):
        list(reproduce([replace(Squares().experiment, run=fails)], "quick", tmp_path, Context()))


def test_every_claim_of_an_experiment_needs_a_finding(tmp_path):
    experiment = replace(Squares().experiment, claims=(1, 2))
    with pytest.raises(AssertionError, match="findings about"):
        list(reproduce([experiment], "quick", tmp_path, Context()))


def test_damaged_results_are_told(tmp_path):
    run([Squares()], tmp_path)
    (tmp_path / "2001-squares" / "squares.parquet").write_text("nothing")
    with pytest.raises(InputError, match="delete this folder"):
        run([Squares()], tmp_path)
    (tmp_path / "2001-squares" / "_cbnet.json").write_text("{}")
    with pytest.raises(InputError, match="delete its folder"):
        run([Squares()], tmp_path)


def test_inputs_must_be_there(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        run([Squares()], tmp_path, topology=tmp_path / "none")


def test_a_page_has_a_finding_for_each_claim(tmp_path):
    outcomes = run([Squares()], tmp_path)
    found = findings_of_all(outcomes)
    assert [finding.claim for finding in found] == list(claims())
    assert [finding.claim for finding in found if finding.verdict != "open"] == [1]
    page = reproduction_page(outcomes)
    assert [section.anchor for section in page.sections] == ["claims", "paper-2001"]
    assert len(page.sections[0].grids[0].rows) == 90
