"""Descriptors derived from user traces, and the share of users of each application [2014 §4.2.1, §4.2.2].

The paper's traces are not available. Its derivations run on the traces of --traces, so shares and means can be
compared, but not numbers of users. The election of clusters needs no trace.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np
import pyarrow as pa

from cbnet.lab.experiments.claim import Finding
from cbnet.lab.experiments.curves import Row, as_table
from cbnet.lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet.lab.experiments.y2014 import users
from cbnet.lab.report.chart import Chart

_CLAIMS = {79: "web", 80: "blog", 81: "video", 82: "social"}
_CLOSE = 0.01  # of the users; tolerance of an elected share
_BATCH = 1 << 20  # clusters
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
    return {"elected": _elected(parameters.clusters, context.seed), "yields": as_table(counts)}


def _elected(clusters: int, seed: int) -> pa.Table:
    """Return the share of clusters with descriptors of each application."""
    from cbnet.matching.storage.tag_sets import TagSets
    from cbnet.pipeline.population.population import APPLICATIONS, cluster_sets
    from cbnet.pipeline.population.tag_model import TagModel

    one_set = TagModel(TagSets(np.array([0, 1]), np.array([0], dtype=np.int32)), 0.0, 1)
    counts = dict.fromkeys((app.name for app in APPLICATIONS), 0)
    for start in range(0, clusters, _BATCH):
        numbers = np.arange(start, min(clusters, start + _BATCH))
        for number, app in enumerate(APPLICATIONS):
            elected, _ = cluster_sets(numbers, replace(app, descriptors=1, sets=None), number, one_set, seed)
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
    traces = [_trace(claim, rows.get(("ours", app)), rows["paper", app]) for claim, app in _CLAIMS.items()]
    return [*traces, _shares(tables["elected"])]


def _trace(claim: int, ours: Row | None, paper: Row) -> Finding:
    app = _CLAIMS[claim]
    if ours is None:
        return Finding(claim, "-", "open", "the paper's trace is not available", missing="traces")
    measures = ", ".join(f"{_number(name, value)} {name}" for name, value in _measures(ours).items())
    theirs = _measures(paper)
    comparable = ", ".join(
        f"{_number(name, value)} {name}" for name, value in theirs.items() if name in _measures(ours)
    )
    text = f"{measures} (the paper's: {comparable})" if comparable else measures
    if not ours["derived"]:
        return Finding(claim, text, "fails", "no descriptor could be derived")
    return Finding(claim, text, "differs", f"another trace: {_TRACED[app]}; the derivation is the paper's")


def _measures(row: Row) -> dict[str, float]:
    """Return the measures that are comparable between traces of different sizes."""
    pairs = {
        f"of the {row['unit']} kept": ("kept", "read"),
        f"{row['product']} per row of the {row['unit']}": ("derived", "read"),
        "of the users kept": ("users", "users_read"),
        f"{row['product']} per user": ("derived", "users"),
        "tags each": ("tags", "derived"),
    }
    return {
        name: row[part] / row[whole] for name, (part, whole) in pairs.items() if row[part] is not None and row[whole]
    }


def _number(name: str, value: float) -> str:
    return f"{value:.1%}" if name.endswith("kept") else f"{value:.3g}"


def _shares(elected: pa.Table) -> Finding:
    rows = elected.to_pylist()
    ours = ", ".join(f"{row['app']} {row['share']:.2%}" for row in rows) + f" of {rows[0]['clusters']:,} clusters"
    if all(abs(row["share"] - row["expected"]) <= _CLOSE for row in rows):
        return Finding(83, ours, "holds")
    return Finding(83, ours, "fails", f"a share is more than {_CLOSE:.0%} from the paper's")


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
    "other messages with hashtags.",
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
        "full": TracesParameters(users.PAPER_CLUSTERS, 100),
        "paper": TracesParameters(users.PAPER_CLUSTERS, 400),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=_CHOICES,
    inputs=("traces",),
)
