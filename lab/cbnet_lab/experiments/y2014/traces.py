"""Descriptors derived from user traces, and the share of users of each application [2014 §4.2.1, §4.2.2].

The paper's traces are not available. Its derivations run on the traces of --traces, so shares and means can be
compared, but not numbers of users. A claim fails if one of them is far from the paper's.

The shares of users are inputs of the election, so an election alone could not contradict them: they are recomputed from
the numbers of users in the text, and the election is tested for its spread.
"""

from __future__ import annotations

import gzip
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Row, as_table
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.experiments.y2014 import users
from cbnet_lab.report.chart import Chart

_CLAIMS = {79: "web", 80: "blog", 81: "video", 82: "social"}
_FACTOR = 1.5  # by which a share or a mean of another trace may differ
_DEVIATIONS = 4  # standard deviations by which an elected share may differ
_ROUNDING = 0.0001  # of a share that is recomputed from the text
# [2014 §4.2.2]: users of each application, and of all. Half of all use the Web.
_USERS = {"web": 1_250e6, "blog": 181e6, "video": 0.109 * 800e6, "social": 500e6}
_ALL_USERS = 2_500e6
_FOLLOWERS = 1_470e6 / 41.7e6  # relations per user [2014 §4.2.1]
_FOLLOWERS_NAME = "followers per user"
_FOLLOWERS_FILE = "followers/edges.txt.gz"
_RULES = {
    claim: ClaimRule(
        claim, f"every share and mean that the paper's trace has too is within a factor of {_FACTOR} of it"
    )
    for claim in _CLAIMS
}
_ELECTED = ClaimRule(
    83,
    f"the shares follow from the numbers of users in the text, and the elected ones are within {_DEVIATIONS} standard "
    "deviations of them",
)
_BATCH = 1 << 20  # clusters
_RELATIONS = pa.schema([("users", pa.int64()), ("relations", pa.int64())])
_TRACED = {
    "web": "bookmarks and music",
    "blog": "articles and who saved them",
    "video": "videos and their channels",
    "social": "messages with hashtags and links",
}


@dataclass(frozen=True)
class TracesParameters:
    """Clusters to elect from, and topics of the documents."""

    clusters: int
    topics: int


def _run(parameters: TracesParameters, context: ExperimentContext) -> dict[str, pa.Table]:
    from cbnet.pipeline.derive.derivation_counts import PAPER

    counts = [{"of": "paper", **asdict(each)} for each in PAPER.values()]
    for done, app in enumerate(apps := users.traced_apps(context)):
        context.progress(done, len(apps), app)
        derivation = users.derive_trace(context, app, parameters.topics)
        derivation.descriptors.write.format("noop").mode("overwrite").save()
        counts.append({"of": "ours", **asdict(derivation.counts())})
    followers = None if context.traces is None else context.traces / _FOLLOWERS_FILE
    relations = [_relations(followers)] if followers is not None and followers.is_file() else []
    return {
        "elected": _elected(parameters.clusters, context.seed),
        "yields": as_table(counts),
        "followers": pa.Table.from_pylist(relations, schema=_RELATIONS),
    }


def _relations(path: Path) -> Row:
    """Return the users and relations of a file with a pair of follower and author per line."""
    users: set[bytes] = set()
    relations = 0
    with gzip.open(path, "rb") as file:
        for line in file:
            users.update(line.split())
            relations += 1
    return {"users": len(users), "relations": relations}


def _elected(clusters: int, seed: int) -> pa.Table:
    """Return the share of clusters with descriptors of each application."""
    from cbnet.pipeline.population.default_models import default_models
    from cbnet.pipeline.population.population import APPLICATIONS, cluster_sets

    model = default_models(["social"])["social"]
    counts = dict.fromkeys((app.name for app in APPLICATIONS), 0)
    for start in range(0, clusters, _BATCH):
        numbers = np.arange(start, min(clusters, start + _BATCH))
        for number, app in enumerate(APPLICATIONS):
            elected, _ = cluster_sets(numbers, replace(app, descriptors=1), number, model, seed)
            counts[app.name] += len(elected)
    shares = {app.name: app.share for app in APPLICATIONS}
    return as_table(
        [
            {"app": app, "clusters": clusters, "elected": count, "share": count / clusters, "expected": shares[app]}
            for app, count in counts.items()
        ]
    )


def _findings(tables: Tables, _: TracesParameters) -> list[Finding]:
    rows = {(row["of"], row["app"]): row for row in tables["yields"].to_pylist()}
    traces = [
        _trace(claim, rows.get(("ours", app)), rows["paper", app], tables["followers"].to_pylist())
        for claim, app in _CLAIMS.items()
    ]
    return [*traces, _shares(tables["elected"])]


def _trace(claim: int, ours: Row | None, paper: Row, followers: list[Row]) -> Finding:
    rule, app = _RULES[claim], _CLAIMS[claim]
    if ours is None:
        return rule.open("-", "the paper's trace is not available", missing="traces")
    measured, theirs = _measures(ours), _measures(paper)
    if app == "social" and followers:
        measured |= {_FOLLOWERS_NAME: followers[0]["relations"] / followers[0]["users"]}
        theirs |= {_FOLLOWERS_NAME: _FOLLOWERS}
    text = ", ".join(
        f"{_number(name, value)} {name}" + (f" (the paper's: {_number(name, theirs[name])})" if name in theirs else "")
        for name, value in measured.items()
    )
    far = [name for name in theirs if not _is_close(measured.get(name, 0.0), theirs[name])]
    if far:
        return rule.fails(text, f"far from the paper's: {', '.join(far)}; the trace is another one: {_TRACED[app]}")
    return rule.differs(text, f"another trace: {_TRACED[app]}; the derivation is the paper's")


def _is_close(ours: float, theirs: float) -> bool:
    return theirs / _FACTOR <= ours <= theirs * _FACTOR


def _measures(row: Row) -> dict[str, float]:
    """Return the measures that are comparable between traces of different sizes."""
    pairs = {
        f"{row['unit']} per user": ("read", "users_read"),
        f"of the {row['unit']} kept": ("kept", "read"),
        f"{row['product']} per row of the {row['unit']}": ("derived", "read"),
        "of the users kept": ("users", "users_read"),
        f"{row['product']} per user": ("derived", "users"),
        f"tags per row of the {row['unit']}": ("tags_read", "read"),
        "tags each": ("tags", "derived"),
    }
    return {
        name: row[part] / row[whole]
        for name, (part, whole) in pairs.items()
        if row[part] is not None and row[whole] is not None and row[whole]
    }


def _number(name: str, value: float) -> str:
    return f"{value:.1%}" if name.endswith("kept") else f"{value:.3g}"


def _shares(elected: pa.Table) -> Finding:
    rows = elected.to_pylist()
    recomputed = {app: users / _ALL_USERS for app, users in _USERS.items()}
    ours = "; ".join(
        (
            ", ".join(f"{row['app']} {row['share']:.2%}" for row in rows) + f" of {rows[0]['clusters']:,} clusters",
            "recomputed from the text: " + ", ".join(f"{app} {share:.2%}" for app, share in recomputed.items()),
        )
    )
    if any(abs(row["expected"] - recomputed[row["app"]]) > _ROUNDING for row in rows):
        return _ELECTED.fails(ours, "a share does not follow from the numbers of users in the text")
    if any(abs(row["share"] - row["expected"]) > _DEVIATIONS * _deviation(row) for row in rows):
        return _ELECTED.fails(ours, "an elected share is too far from the paper's")
    reason = "the shares are inputs of our election: only its spread, and the arithmetic of the text, could fail"
    return _ELECTED.differs(ours, reason)


def _deviation(row: Row) -> float:
    """Return the standard deviation of an elected share."""
    return float((row["expected"] * (1 - row["expected"]) / row["clusters"]) ** 0.5)


def _charts(tables: Tables, _: TracesParameters) -> list[Chart]:
    rows = [
        {"application": row["app"], "share": row[column], "source": label}
        for row in tables["elected"].to_pylist()
        for column, label in (("expected", "paper"), ("share", "elected"))
    ]
    return [
        Chart(
            "elected", "Share of clusters that use each application", as_table(rows), "application", "share", "bars",
            series="source", y_title="share of the clusters",
            description="Shares of clusters elected, and those of the paper.",
        ),
    ]  # fmt: skip


_CHOICES = (
    "Substitutes for the paper's traces: bookmarks and music for its bookmarks, articles for blogs, other videos and "
    "other messages with hashtags. The follower graph has other users than the messages, so only its degree is shown.",
    "Clusters are elected for each application independently, which is not stated in the paper.",
    "Topics are learned by online variational Bayes; the paper only mentions latent Dirichlet allocation.",
)

EXPERIMENT = Experiment(
    name="2014-traces",
    title="From user traces to descriptors",
    paper="2014",
    section="§4.2.1, §4.2.2",
    claims=(79, 80, 81, 82, 83),
    scales={
        "quick": TracesParameters(100_000, 50),
        "full": TracesParameters(users.PAPER_CLUSTERS, 400),
        "paper": TracesParameters(users.PAPER_CLUSTERS, 400),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=_CHOICES,
    inputs=("traces",),
)
