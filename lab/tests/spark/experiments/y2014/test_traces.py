import gzip

import pytest

from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2014.traces import EXPERIMENT
from cbnet_lab.experiments.y2014.users import traced_apps

PARAMETERS = EXPERIMENT.parameters(clusters=20_000, topics=4)
BOOKMARKS = "user\titem\ttags\nann\tu1\tred blue\nann\tu2\tred blue\nbob\tu3\t\nbob\tu4\tgreen\n"
MUSIC = "user\titem\ttags\ncat\tm1\tjazz\ndan\tm2\t\n"


@pytest.fixture
def folder(tmp_path):
    for name, text in (("bookmarks", BOOKMARKS), ("music", MUSIC)):
        (tmp_path / name).mkdir()
        with gzip.open(tmp_path / name / f"{name}.tsv.gz", "wt") as file:
            file.write(text)
    return tmp_path


def test_without_traces_only_the_election_is_decided():
    tables = EXPERIMENT.run(PARAMETERS, ExperimentContext())
    found = {finding.claim: finding for finding in EXPERIMENT.findings(tables, PARAMETERS)}
    assert {claim: finding.verdict for claim, finding in found.items()} == {
        79: "open",
        80: "open",
        81: "open",
        82: "open",
        83: "differs",
    }
    for row in tables["elected"].to_pylist():
        deviation = (row["expected"] * (1 - row["expected"]) / 20_000) ** 0.5
        assert abs(row["share"] - row["expected"]) < 5 * deviation


def test_traces_in_the_folder_are_derived(spark, folder):
    context = ExperimentContext(traces=folder, spark=lambda: spark)
    assert traced_apps(context) == ["web"]
    tables = EXPERIMENT.run(PARAMETERS, context)
    [ours] = [row for row in tables["yields"].to_pylist() if row["of"] == "ours"]
    # Six rows of four users; two have no tags, and two of ann's are equal.
    counted = {name: ours[name] for name in ("read", "users_read", "kept", "derived", "users", "tags")}
    assert counted == {"read": 6, "users_read": 4, "kept": 4, "derived": 3, "users": 3, "tags": 4}
    web = EXPERIMENT.findings(tables, PARAMETERS)[0]
    assert web.verdict == "fails"  # far fewer bookmarks per user than in the paper
    assert "66.7% of the bookmarks kept" in web.ours
    assert "1 subscriptions per user" in web.ours
