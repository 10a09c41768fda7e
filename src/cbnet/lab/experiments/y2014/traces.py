"""Traces of [2014 §4.2.1, §4.2.2]: what do users' traces become, and which share of the users uses what?

The paper's traces are not to be had. Its derivations are run on others, if they are given: what can be compared are
shares and means, not numbers of users. The election of clusters needs no trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from cbnet.lab.experiments.claim import Finding
from cbnet.lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet.lab.experiments.y2014 import users
from cbnet.lab.report.chart import Chart

_CLAIMS = {79: "web", 80: "blog", 81: "video", 82: "social"}
_CLOSE = 0.01  # of the users, by which an elected share may differ from the one that is asked for
_AT_ONCE = 1 << 20  # clusters
_TRACED = {
    "web": "bookmarks and music",
    "blog": "articles and who saved them",
    "video": "videos and their channels",
    "social": "messages with hashtags and links",
}


@dataclass(frozen=True)
class TracesParameters:
    """How many clusters are elected, and how many topics the documents have."""

    clusters: int
    topics: int


def _run(parameters: TracesParameters, context: ExperimentContext) -> dict[str, pa.Table]:
    from cbnet.pipeline.derive.derivation_counts import PAPER

    found = [{"of": "paper", **asdict(told)} for told in PAPER.values()]
    for done, app in enumerate(apps := users.traced_apps(context)):
        context.progress(done, len(apps), app)
        derived = users.derived(context, app, parameters.topics)
        derived.descriptors.write.format("noop").mode("overwrite").save()
        found.append({"of": "ours", **asdict(derived.counts())})
    return {"elected": _elected(parameters.clusters, context.seed), "yields": pa.Table.from_pylist(found)}


def _elected(clusters: int, seed: int) -> pa.Table:
    """Return for each application the share of clusters that have descriptors of it."""
    from cbnet.matching.storage.tag_sets import TagSets
    from cbnet.pipeline.population.population import APPLICATIONS, cluster_sets
    from cbnet.pipeline.population.tag_model import TagModel

    one_set = TagModel(TagSets(np.array([0, 1]), np.array([0], dtype=np.int32)), 0.0, 1)
    counts = dict.fromkeys((app.name for app in APPLICATIONS), 0)
    for start in range(0, clusters, _AT_ONCE):
        numbers = np.arange(start, min(clusters, start + _AT_ONCE))
        for number, app in enumerate(APPLICATIONS):
            places, _ = cluster_sets(numbers, replace(app, descriptors=1, sets=None), number, one_set, seed)
            counts[app.name] += len(places)
    shares = {app.name: app.share for app in APPLICATIONS}
    return pa.Table.from_pylist(
        [
            {"app": app, "clusters": clusters, "elected": count, "share": count / clusters, "asked": shares[app]}
            for app, count in counts.items()
        ]
    )


def _findings(tables: Tables, _parameters: TracesParameters) -> list[Finding]:
    rows = {(row["of"], row["app"]): row for row in tables["yields"].to_pylist()}
    traces = [_trace(claim, rows.get(("ours", app)), rows["paper", app]) for claim, app in _CLAIMS.items()]
    return [*traces, _shares(tables["elected"])]


def _trace(claim: int, ours: dict[str, Any] | None, paper: dict[str, Any]) -> Finding:
    app = _CLAIMS[claim]
    if ours is None:
        return Finding(claim, "-", "open", "the paper's trace is not to be had, and no other was given (--traces)")
    told = ", ".join(f"{_number(name, value)} {name}" for name, value in _measures(ours).items())
    theirs = _measures(paper)
    beside = ", ".join(f"{_number(name, value)} {name}" for name, value in theirs.items() if name in _measures(ours))
    ours_too = f"{told} (the paper's: {beside})" if beside else told
    if not ours["derived"]:
        return Finding(claim, ours_too, "fails", "nothing could be derived")
    return Finding(claim, ours_too, "differs", f"another trace: {_TRACED[app]}; the derivation is the paper's")


def _measures(row: dict[str, Any]) -> dict[str, float]:
    """Return what can be compared between traces of different sizes."""
    pairs = {
        f"of the {row['unit']} kept": ("kept", "read"),
        f"{row['product']} for each of the {row['unit']}": ("derived", "read"),
        "of the users kept": ("users", "users_read"),
        f"{row['product']} for each user": ("derived", "users"),
        "tags of each": ("tags", "derived"),
    }
    return {
        name: row[part] / row[whole] for name, (part, whole) in pairs.items() if row[part] is not None and row[whole]
    }


def _number(name: str, value: float) -> str:
    return f"{value:.1%}" if name.endswith("kept") else f"{value:.3g}"


def _shares(elected: pa.Table) -> Finding:
    rows = elected.to_pylist()
    ours = ", ".join(f"{row['app']} {row['share']:.2%}" for row in rows) + f" of {rows[0]['clusters']:,} clusters"
    if all(abs(row["share"] - row["asked"]) <= _CLOSE for row in rows):
        return Finding(83, ours, "holds")
    return Finding(83, ours, "fails", f"a share is more than {_CLOSE:.0%} from the paper's")


def _charts(tables: Tables, _parameters: TracesParameters) -> list[Chart]:
    rows = [
        {"application": row["app"], "share": row[column], "is": told}
        for row in tables["elected"].to_pylist()
        for column, told in (("asked", "paper"), ("share", "elected"))
    ]
    return [
        Chart(
            "elected",
            "Share of the clusters that use each application",
            pa.Table.from_pylist(rows),
            "application",
            "share",
            "bars",
            series="is",
            y_title="share of the clusters",
            description="The shares of clusters that were elected, beside those of the paper.",
        )
    ]


_CHOICES: Sequence[str] = (
    "Traces that stand in for the paper's: bookmarks and music for its bookmarks, articles for blogs, other videos and "
    "other messages with hashtags.",
    "A cluster is elected for each application by itself; whether these depend on each other is not told.",
    "Topics are learned by online variational Bayes; the paper names latent Dirichlet allocation only.",
)

EXPERIMENT = Experiment(
    name="2014-traces",
    title="What users say: from traces to descriptors",
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
    choices=tuple(_CHOICES),
    inputs=("traces",),
)
