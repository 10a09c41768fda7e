"""Users of [2014 §4.2]: descriptors from traces, or from models without traces, and users per AS.

An application without its files in the folder of traces is synthetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cbnet.topology import Graph
from cbnet_lab.experiments.experiment import ExperimentContext

if TYPE_CHECKING:
    from cbnet.pipeline.derive.derivation import Derivation
    from cbnet.pipeline.population.user_election import Application
    from cbnet.pipeline.population.user_model import UserModel

PAPER_CLUSTERS = 2_500_000
PAPER_DESCRIPTORS = 85_504_514
# Files of a folder of traces.
FILES: Mapping[str, tuple[str, ...]] = {
    "web": ("bookmarks/bookmarks.tsv.gz", "music/music.tsv.gz"),
    "blog": ("articles/wordcounts.dat.gz", "articles/vocabulary.txt.gz", "articles/user_items.tsv.gz"),
    "video": ("videos/videos.csv.gz",),
    "social": ("tweets/tweets.tsv.gz",),
}
_FITTED = ("video", "social")
_USERS = "as-2012/aspop.csv.gz"
_PRESETS = {"web": ("bookmarks", "music"), "video": ("videos",), "social": ("tweets",)}


def traced_apps(context: ExperimentContext) -> list[str]:
    """Return the applications with traces."""
    if context.traces is None:
        return []
    return [app for app in FILES if all(path.is_file() for path in _paths(context, app))]


def derive_trace(context: ExperimentContext, app: str, topics: int = 400) -> Derivation:
    """Derive the descriptors of an application from its trace [2014 §4.2.1]."""
    from cbnet.pipeline.derive.applications import derive
    from cbnet.pipeline.derive.topics import TopicModel

    paths = _paths(context, app)
    if app == "blog":
        counts, vocabulary, authors = paths
        articles = _rows(context, counts, "articles", vocabulary=str(vocabulary))
        model = TopicModel(topics=topics, seed=context.seed)
        return derive(app, [articles], authors=_rows(context, authors, "article-users"), topics=model)
    return derive(app, [_rows(context, path, preset) for path, preset in zip(paths, _PRESETS[app], strict=True)])


@cache
def models(context: ExperimentContext) -> dict[str, UserModel]:
    """Return a model of each application: fitted to its trace, or the default one.

    Blogs, less than a hundredth of all descriptors, have the default model; so has the Web, because the vocabulary of a
    trace whose rare tags were removed hardly grows. Its default follows the sizes of published crawls.
    """
    from cbnet.pipeline.population.application_models import models_of_apps, user_trace
    from cbnet.pipeline.tables.dictionary import number_tags, numbered_sets, set_weights

    kinds = {app: app for app in FILES}
    traced = [app for app in traced_apps(context) if app in _FITTED]
    if not traced:
        return models_of_apps({}, kinds, seed=context.seed)
    frames = [derive_trace(context, app).descriptors for app in traced]
    descriptors = reduce(lambda one, other: one.unionByName(other), frames).persist()
    try:
        counts = {row["app"]: row["count"] for row in descriptors.groupBy("app").count().collect()}
        expected = {app.name: app.share * app.descriptors for app in applications() if app.name in traced}
        tags = number_tags(descriptors, set_weights(expected, counts)).persist()
        sets = numbered_sets(descriptors, tags).persist()
        traces = {app: user_trace(sets.where(sets["app"] == app), f"application {app!r}") for app in traced}
        return models_of_apps(traces, kinds, tags.count(), seed=context.seed)
    finally:
        descriptors.unpersist()


def applications() -> Sequence[Application]:
    """Return the applications, with the Web descriptors per cluster that give the paper's total."""
    from cbnet.pipeline.population.user_election import APPLICATIONS

    web, *others = APPLICATIONS
    rest = sum(app.share * app.descriptors for app in others)
    return [replace(web, descriptors=(PAPER_DESCRIPTORS / PAPER_CLUSTERS - rest) / web.share), *others]


def first_clusters(context: ExperimentContext, graph: Graph, clusters: int) -> NDArray[np.int64]:
    """Return the first cluster of each node: by users per AS if both files exist, else by AS class."""
    from cbnet.pipeline.population import users_per_as as as_users

    users = None if context.traces is None else context.traces / _USERS
    is_known = context.topology is not None and users is not None and users.is_file()
    weights = as_users.users_from_file(graph, users) if is_known and users else as_users.users_by_class(graph)
    return as_users.first_clusters(weights, clusters)


def _paths(context: ExperimentContext, app: str) -> list[Path]:
    return [] if context.traces is None else [context.traces / name for name in FILES[app]]


def _rows(context: ExperimentContext, path: Path, preset: str, **more: str) -> Any:
    """Return the rows of a file."""
    from cbnet.pipeline.ingest.readers import read
    from cbnet.pipeline.ingest.source import Source

    return read(context.spark(), Source.of({"path": str(path), "preset": preset, **more})).rows
