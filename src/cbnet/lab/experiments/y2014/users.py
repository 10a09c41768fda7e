"""Users of [2014 §4.2]: what do they say, by traces that are given or by models without any, and where?

A folder of traces has these files; an application without its files is made up:

    web     bookmarks/bookmarks.tsv.gz, music/music.tsv.gz
    blog    articles/wordcounts.dat.gz, vocabulary.txt.gz, user_items.tsv.gz
    video   videos/videos.csv.gz
    social  tweets/tweets.tsv.gz
    places  as-2012/aspop.csv.gz
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cbnet.lab.experiments.experiment import Context
from cbnet.topology import Graph

if TYPE_CHECKING:
    from cbnet.pipeline.derive.derivation import Derived
    from cbnet.pipeline.population.model import Model
    from cbnet.pipeline.population.population import Application

PAPER_CLUSTERS = 2_500_000
PAPER_DESCRIPTORS = 85_504_514
FILES: Mapping[str, tuple[str, ...]] = {
    "web": ("bookmarks/bookmarks.tsv.gz", "music/music.tsv.gz"),
    "blog": ("articles/wordcounts.dat.gz", "articles/vocabulary.txt.gz", "articles/user_items.tsv.gz"),
    "video": ("videos/videos.csv.gz",),
    "social": ("tweets/tweets.tsv.gz",),
}
_USERS = "as-2012/aspop.csv.gz"
_GROWN = 20_000  # sets of a trace that is made up


def traced_apps(context: Context) -> list[str]:
    """Return the applications that there are traces of."""
    if context.traces is None:
        return []
    return [app for app in FILES if all(path.is_file() for path in _paths(context, app))]


def derived(context: Context, app: str, topics: int = 400) -> Derived:
    """Return the descriptors of an application, derived from its trace as the paper says."""
    from cbnet.pipeline.derive.blogs import blog_subscriptions
    from cbnet.pipeline.derive.cleaning import Cleaning
    from cbnet.pipeline.derive.documents import documents_of_counts
    from cbnet.pipeline.derive.social import social_subscriptions
    from cbnet.pipeline.derive.topics import TopicModel
    from cbnet.pipeline.derive.video import video_offers
    from cbnet.pipeline.derive.web import web_subscriptions

    paths = _paths(context, app)
    if app == "blog":
        counts, vocabulary, authors = paths
        documents = documents_of_counts(_rows(context, counts, "articles", vocabulary=str(vocabulary)), Cleaning())
        pairs = _rows(context, authors, "article-users")
        return blog_subscriptions(documents, pairs, TopicModel(topics=topics, seed=context.seed))
    ways: dict[str, tuple[Callable[[Any], Derived], tuple[str, ...]]] = {
        "web": (web_subscriptions, ("bookmarks", "music")),
        "video": (video_offers, ("videos",)),
        "social": (social_subscriptions, ("tweets",)),
    }
    derive, presets = ways[app]
    frames = [_rows(context, path, preset) for path, preset in zip(paths, presets, strict=True)]
    return derive(reduce(lambda one, other: one.unionByName(other), frames))


@cache
def models(context: Context) -> dict[str, Model]:
    """Return a model of each application; blogs, less than a hundredth of all descriptors, are always made up."""
    from cbnet.pipeline.population.trace_models import models_of_traces, models_without_traces
    from cbnet.pipeline.tables.dictionary import number_tags, numbered_sets, set_weights

    traced = [app for app in traced_apps(context) if app != "blog"]
    if not traced:
        return models_without_traces([*FILES], seed=context.seed)
    frames = {app: derived(context, app).descriptors if app in traced else _grown(context, app) for app in FILES}
    said = reduce(lambda one, other: one.unionByName(other), frames.values()).persist()
    try:
        counts = {row["app"]: row["count"] for row in said.groupBy("app").count().collect()}
        expected = {app.name: app.share * app.descriptors for app in applications()}
        tags = number_tags(said, set_weights(expected, counts)).persist()
        return models_of_traces(numbered_sets(said, tags), [*FILES], tags.count(), seed=context.seed)
    finally:
        said.unpersist()


def applications() -> Sequence[Application]:
    """Return the applications, with as many descriptors of a cluster on the Web as give the paper's total."""
    from cbnet.pipeline.population.population import APPLICATIONS

    web, *others = APPLICATIONS
    rest = sum(app.share * app.descriptors for app in others)
    return [replace(web, descriptors=(PAPER_DESCRIPTORS / PAPER_CLUSTERS - rest) / web.share), *others]


def first_clusters(context: Context, graph: Graph, clusters: int) -> NDArray[np.int64]:
    """Return the first cluster of each node: by users per AS if they and the graph are given, else by class."""
    from cbnet.pipeline.population import users_per_as as as_users

    users = None if context.traces is None else context.traces / _USERS
    is_known = context.topology is not None and users is not None and users.is_file()
    weights = as_users.users_from_file(graph, users) if is_known and users else as_users.users_by_class(graph)
    return as_users.first_clusters(weights, clusters)


def _paths(context: Context, app: str) -> list[Path]:
    return [] if context.traces is None else [context.traces / name for name in FILES[app]]


def _rows(context: Context, path: Path, preset: str, **more: str) -> Any:
    """Return the rows of a file."""
    from cbnet.pipeline.ingest.readers import read
    from cbnet.pipeline.ingest.source import Source

    return read(context.spark(), Source.of({"path": str(path), "preset": preset, **more})).rows


def _grown(context: Context, app: str) -> Any:
    """Return made-up descriptors of an application, beside the traces of others."""
    from cbnet.pipeline.population.synthetic_trace import grown_trace
    from cbnet.pipeline.schemas import DESCRIPTORS, arrow_schema

    role = next(each.role for each in applications() if each.name == app)
    tags = [sorted(f"{app} {tag}" for tag in row) for row in grown_trace(app, _GROWN, context.seed).to_lists()]
    schema = arrow_schema(DESCRIPTORS)
    columns: list[list[Any]] = [[app] * len(tags), [role] * len(tags), [None] * len(tags), tags]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return context.spark().createDataFrame(pa.table(arrays, schema))
