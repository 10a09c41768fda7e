"""Verdicts on derivations and on the election of clusters, from tables written by hand."""

import pyarrow as pa
import pytest

from cbnet_lab.experiments.y2014.traces import EXPERIMENT

COLUMNS = ("read", "users_read", "tags_read", "kept", "derived", "users", "tags")
PAPER = {
    "web": ("bookmarks", (1390, 10, 4420, None, 1300, 9, None)),
    "blog": ("posts", (3200, 100, None, 178, None, 59, None)),
    "video": ("videos", (132, 10, None, None, None, None, None)),
    "social": ("tweets", (16_000, None, None, None, 446, 350, None)),
}
SHARES = {"web": 0.5, "blog": 0.0724, "video": 0.03488, "social": 0.2}


def yields(of, app, **changed):
    unit, counts = PAPER[app]
    return {"of": of, "app": app, "unit": unit, "product": "sets"} | dict(zip(COLUMNS, counts, strict=True)) | changed


def verdicts(apps=(), followers=(), elected=SHARES, expected=SHARES, **changed):
    """Return verdicts on traces with the paper's own counts, some of them changed."""
    rows = [yields("paper", app) for app in PAPER] + [yields("ours", app, **changed) for app in apps]
    election = [
        {"app": app, "clusters": 10_000, "share": share, "expected": expected[app]} for app, share in elected.items()
    ]
    tables = {
        "yields": pa.Table.from_pylist(rows), "elected": pa.Table.from_pylist(election),
        "followers": pa.Table.from_pylist(
            [*followers], schema=pa.schema([("users", pa.int64()), ("relations", pa.int64())])
        ),
    }  # fmt: skip
    return {finding.claim: finding.verdict for finding in EXPERIMENT.findings(tables, None)}


def test_claims_are_open_without_traces():
    assert verdicts() == {79: "open", 80: "open", 81: "open", 82: "open", 83: "differs"}


def test_trace_with_the_papers_shares_holds_with_a_difference():
    found = verdicts(PAPER, followers=[{"users": 100, "relations": 3525}])
    assert [found[claim] for claim in (79, 80, 81, 82)] == ["differs"] * 4


@pytest.mark.parametrize(
    ("app", "claim", "changed"),
    [
        ("web", 79, {"derived": 700}),  # 50 % of the bookmarks, not 93 %
        ("web", 79, {"users_read": 40, "users": 36}),  # a quarter as many for each user
        ("blog", 80, {"kept": 2490}),  # 77.8 % of the posts, not 5.5 %
        ("video", 81, {"users_read": 100}),
        ("social", 82, {"users": 2}),  # 223 subscriptions per user, not 1.28
    ],
)
def test_trace_far_from_the_papers_fails(app, claim, changed):
    assert verdicts([app], **changed)[claim] == "fails"


def test_graph_of_other_degrees_fails():
    assert verdicts(["social"], followers=[{"users": 100, "relations": 2000}])[82] == "fails"  # 20 per user, not 35


def test_election_far_from_its_shares_fails():
    assert verdicts(elected=SHARES | {"web": 0.53})[83] == "fails"  # 6 standard deviations of 0.5 %
    assert (
        verdicts(expected=SHARES | {"blog": 0.08}, elected=SHARES | {"blog": 0.08})[83] == "fails"
    )  # not 181 M of 2.5 bn
