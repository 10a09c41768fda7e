"""From traces to numbered sets: sources ─► descriptors of each application ─► dictionary ─► sets [2014 §4.2.1]."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial, reduce
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet.errors import InputError
from cbnet.pipeline.derive.blogs import blog_subscriptions
from cbnet.pipeline.derive.derivation import Derived
from cbnet.pipeline.derive.documents import documents_of_counts, documents_of_posts
from cbnet.pipeline.derive.social import social_subscriptions
from cbnet.pipeline.derive.video import video_offers
from cbnet.pipeline.derive.web import web_subscriptions
from cbnet.pipeline.ingest.readers import Reading, read
from cbnet.pipeline.ingest.source import Source
from cbnet.pipeline.population.synthetic_trace import grown_trace
from cbnet.pipeline.run.configuration import Application, Config
from cbnet.pipeline.run.stage import Output, Stage, Workplace
from cbnet.pipeline.schemas import DESCRIPTORS, arrow_schema
from cbnet.pipeline.spark.filesystem import delete
from cbnet.pipeline.spark.results import Facts, spark_path
from cbnet.pipeline.tables.dictionary import number_tags, numbered_sets, set_weights

_GROWN = 20_000  # sets of a trace that is made up


def trace_stages(config: Config) -> Iterator[Stage]:
    """Yield the stages up to numbered sets; there are none if no application reads a trace."""
    if not config.has_traces:
        return
    for name in dict.fromkeys(source for app in config.applications.values() for source in _sources(app)):
        yield _ingest_stage(name, config.sources[name])
    for name, app in config.applications.items():
        yield _descriptor_stage(name, app, config)
    of_apps = tuple(f"descriptors/{name}" for name in config.applications)
    expected = {name: app.share * app.descriptors for name, app in config.applications.items()}
    yield Stage("tags", partial(_number, expected=expected), {"expected": expected}, of_apps)
    yield Stage("sets", _sets, {}, (*of_apps, "tags"))


def all_descriptors(place: Workplace) -> DataFrame:
    """Return the descriptors of all applications."""
    frames = [place.frame(f"descriptors/{name}") for name in place.config.applications]
    return reduce(DataFrame.unionByName, frames)


def _sources(app: Application) -> list[str]:
    return [name for name in (*app.read, app.authors, app.followers) if name]


def _ingest_stage(name: str, source: Source) -> Stage:
    said: dict[str, Any] = msgspec.to_builtins(source)
    del said["path"], said["vocabulary"]  # what counts is what the files are, not where
    files = (*source.paths, *([source.vocabulary] if source.vocabulary else []))
    return Stage(f"sources/{name}", partial(_ingest, name=name, source=source), said, files=files)


def _ingest(place: Workplace, name: str, source: Source) -> Output:
    vocabulary = spark_path(source.vocabulary) if source.vocabulary else ""
    paths = tuple(map(spark_path, source.paths))
    reading = read(place.spark, msgspec.structs.replace(source, path=paths, vocabulary=vocabulary))
    return Output(reading.rows, partial(_checked, place, reading, place.folder(f"rejected/{name}")))


def _checked(place: Workplace, reading: Reading, folder: str) -> Facts:
    """Write malformed rows aside and return how many there were; an error if there were too many."""
    tally = reading.tally()
    if tally.rejected:
        reading.rejected().write.mode("overwrite").parquet(spark_path(folder))
    else:
        delete(place.spark, spark_path(folder))
    try:
        reading.check()
    except InputError as error:
        raise InputError(error.problem, hint=f"{error.hint}; these rows are in {folder}") from None
    return {"lines": tally.lines, "rejected": dict(tally.rejected), "aside": folder if tally.rejected else None}


def _descriptor_stage(name: str, app: Application, config: Config) -> Stage:
    if not app.read:
        parameters = {"kind": app.kind, "sets": _GROWN, "seed": config.seed}
        return Stage(f"descriptors/{name}", partial(_grow, name=name, app=app), parameters)
    cleaning = msgspec.to_builtins(config.cleaning)
    topics = {"topics": msgspec.to_builtins(config.topics)} if app.kind == "blog" else {}
    needs = tuple(f"sources/{source}" for source in _sources(app))
    parameters = {"kind": app.kind, "cleaning": cleaning, **topics}
    return Stage(f"descriptors/{name}", partial(_derive, name=name, app=app), parameters, needs)


def _derive(place: Workplace, name: str, app: Application) -> Output:
    derived = _DERIVATIONS[app.kind](place, app)
    named = derived.descriptors.withColumn("app", F.lit(name)).select(*DESCRIPTORS.names)
    return Output(named, lambda: {"yield": asdict(derived.counts())})


def _web(place: Workplace, app: Application) -> Derived:
    return web_subscriptions(_read(place, app), place.config.cleaning)


def _video(place: Workplace, app: Application) -> Derived:
    return video_offers(_read(place, app), place.config.cleaning)


def _social(place: Workplace, app: Application) -> Derived:
    follows = place.frame(f"sources/{app.followers}") if app.followers else None
    return social_subscriptions(_read(place, app), follows, place.config.cleaning)


def _blog(place: Workplace, app: Application) -> Derived:
    make = {"posts": documents_of_posts, "wordcounts": documents_of_counts}
    documents = [
        make[place.config.sources[name].format](place.frame(f"sources/{name}"), place.config.cleaning)
        for name in app.read
    ]
    authors = place.frame(f"sources/{app.authors}") if app.authors else None
    return blog_subscriptions(reduce(DataFrame.unionByName, documents), authors, place.config.topics)


_DERIVATIONS: dict[str, Callable[[Workplace, Application], Derived]] = {
    "web": _web, "blog": _blog, "video": _video, "social": _social,
}  # fmt: skip


def _read(place: Workplace, app: Application) -> DataFrame:
    return reduce(DataFrame.unionByName, [place.frame(f"sources/{name}") for name in app.read])


def _grow(place: Workplace, name: str, app: Application) -> Output:
    """Make up the descriptors of an application that has no trace, while others have."""
    sets = grown_trace(app.kind, _GROWN, place.config.seed)
    tags = [sorted(f"{name} {tag}" for tag in row) for row in sets.to_lists()]
    columns = [[name] * len(tags), [app.role] * len(tags), [None] * len(tags), tags]
    schema = arrow_schema(DESCRIPTORS)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return Output(place.spark.createDataFrame(pa.table(arrays, schema)))


def _number(place: Workplace, expected: dict[str, float]) -> Output:
    sets = {name: place.results[f"descriptors/{name}"].rows for name in expected}
    return Output(number_tags(all_descriptors(place), set_weights(expected, sets)))


def _sets(place: Workplace) -> Output:
    return Output(numbered_sets(all_descriptors(place), place.frame("tags")))
