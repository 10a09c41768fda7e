"""Descriptors derived from user traces, and the share of users of each application [2014 §4.2.1, §4.2.2].

The paper's traces are not available. Its derivations run on the traces of --traces, so shares and means can be
compared, but not numbers of users. A claim fails if one of them is far from the paper's.

The shares of users are inputs of the election, so an election alone could not contradict them: they are recomputed from
the numbers of users in the text, and the election is tested for its spread.
"""

from __future__ import annotations

import gzip
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from cbnet_lab.experiments.curves import Metrics, Row
from cbnet_lab.experiments.experiment import ExperimentContext, Parameters, Results, Rows, experiment
from cbnet_lab.experiments.y2014 import users

# [2014 §4.2.2]: users of each application, and of all. Half of all use the Web.
_USERS = {"web": 1_250e6, "blog": 181e6, "video": 0.109 * 800e6, "social": 500e6}
_ALL_USERS = 2_500e6
_FOLLOWERS = 1_470e6 / 41.7e6  # relations per user [2014 §4.2.1]
_FOLLOWERS_NAME = "followers per user"
_FOLLOWERS_FILE = "followers/edges.txt.gz"
_BATCH = 1 << 20  # clusters


def _run(parameters: Parameters, context: ExperimentContext) -> Results:
    from cbnet.pipeline.derive.derivation import PAPER

    counts = [{"of": "paper", **asdict(each)} for each in PAPER.values()]
    for app in context.track(users.traced_apps(context), str):
        derivation = users.derive_trace(context, app, parameters.topics)
        derivation.descriptors.write.format("noop").mode("overwrite").save()
        counts.append({"of": "ours", **asdict(derivation.counts())})
    followers = None if context.traces is None else context.traces / _FOLLOWERS_FILE
    relations = [_relations(followers)] if followers is not None and followers.is_file() else []
    return {"elected": _elected(parameters.clusters, context.seed), "yields": counts, "followers": relations}


def _relations(path: Path) -> Row:
    """Return the users and relations of a file with a pair of follower and author per line."""
    users: set[bytes] = set()
    relations = 0
    with gzip.open(path, "rb") as file:
        for line in file:
            users.update(line.split())
            relations += 1
    return {"users": len(users), "relations": relations}


def _elected(clusters: int, seed: int) -> list[Row]:
    """Return the share of clusters with descriptors of each application."""
    from cbnet.pipeline.population.application_models import default_models
    from cbnet.pipeline.population.user_election import APPLICATIONS, cluster_sets

    model = default_models(["social"])["social"]
    counts = dict.fromkeys((app.name for app in APPLICATIONS), 0)
    for start in range(0, clusters, _BATCH):
        numbers = np.arange(start, min(clusters, start + _BATCH))
        for number, app in enumerate(APPLICATIONS):
            elected, _ = cluster_sets(numbers, replace(app, descriptors=1), number, model, seed)
            counts[app.name] += len(elected)
    shares = {app.name: app.share for app in APPLICATIONS}
    return [
        {"app": app, "clusters": clusters, "elected": count, "share": count / clusters, "expected": shares[app]}
        for app, count in counts.items()
    ]


def _metrics(rows: Rows, _: Parameters) -> Metrics:
    yields = {(row["of"], row["app"]): row for row in rows["yields"]}
    measures = {app: _compared(yields.get(("ours", app)), yields["paper", app], rows["followers"]) for app in _USERS}
    elected = [{**row, **_differences(row)} for row in rows["elected"]]
    recomputed = [{"app": app, "share": users / _ALL_USERS} for app, users in _USERS.items()]
    return {**measures, "elected": elected, "clusters": elected[0]["clusters"], "recomputed": recomputed} | {
        f"{app}_traced": measures[app] is not None for app in _USERS
    }


def _differences(row: Row) -> Row:
    """Return the difference of a share from the numbers in the text, and of an elected one in standard deviations."""
    expected = row["expected"]
    deviation = (expected * (1 - expected) / row["clusters"]) ** 0.5
    return {
        "rounding": abs(expected - _USERS[row["app"]] / _ALL_USERS),
        "deviations": abs(row["share"] - expected) / deviation,
    }


def _compared(ours: Row | None, paper: Row, followers: list[Row]) -> list[Row] | None:
    """Return our measures of a trace, with the paper's and their ratio; None without a trace."""
    if ours is None:
        return None
    measured, theirs = _measures(ours), _measures(paper)
    if paper["app"] == "social" and followers:
        measured |= {_FOLLOWERS_NAME: followers[0]["relations"] / followers[0]["users"]}
        theirs |= {_FOLLOWERS_NAME: _FOLLOWERS}
    rows = []
    for name in {**measured, **theirs}:
        own, other = measured.get(name, 0.0), theirs.get(name)
        text = f"{_number(name, own)} {name}"
        text += f" (the paper's: {_number(name, other)})" if other is not None else ""
        rows.append({"name": name, "text": text, "ratio": 1.0 if other is None else own / other})
    return rows


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


EXPERIMENT = experiment("2014-traces", _run, _metrics)
