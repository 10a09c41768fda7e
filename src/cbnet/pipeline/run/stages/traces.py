"""From traces to numbered sets: sources ─► descriptors of each application ─► dictionary ─► sets [2014 §4.2.1]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from functools import partial, reduce
from typing import Any

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet.errors import InputError
from cbnet.pipeline.derive.applications import derive
from cbnet.pipeline.ingest.readers import Reading, read
from cbnet.pipeline.ingest.source import Source
from cbnet.pipeline.population.trace_models import SYNTHETIC_SETS, synthetic_descriptors
from cbnet.pipeline.run.configuration import Application, Config
from cbnet.pipeline.run.stage import Output, Stage, Workplace
from cbnet.pipeline.schemas import DESCRIPTORS
from cbnet.pipeline.spark.filesystem import delete
from cbnet.pipeline.spark.results import Facts, spark_path
from cbnet.pipeline.tables.dictionary import number_tags, numbered_sets, set_weights


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
        parameters = {"kind": app.kind, "sets": SYNTHETIC_SETS, "seed": config.seed}
        return Stage(f"descriptors/{name}", partial(_synthesize, name=name, app=app), parameters)
    cleaning = msgspec.to_builtins(config.cleaning)
    topics = {"topics": msgspec.to_builtins(config.topics)} if app.kind == "blog" else {}
    needs = tuple(f"sources/{source}" for source in _sources(app))
    parameters = {"kind": app.kind, "cleaning": cleaning, **topics}
    return Stage(f"descriptors/{name}", partial(_derive, name=name, app=app), parameters, needs)


def _derive(place: Workplace, name: str, app: Application) -> Output:
    def source(name: str) -> DataFrame | None:
        return place.frame(f"sources/{name}") if name else None

    derivation = derive(
        app.kind,
        [place.frame(f"sources/{name}") for name in app.read],
        authors=source(app.authors),
        follows=source(app.followers),
        cleaning=place.config.cleaning,
        topics=place.config.topics,
    )
    named = derivation.descriptors.withColumn("app", F.lit(name)).select(*DESCRIPTORS.names)
    return Output(named, lambda: {"yield": asdict(derivation.counts())})


def _synthesize(place: Workplace, name: str, app: Application) -> Output:
    return Output(synthetic_descriptors(place.spark, name, app.kind, app.role, place.config.seed))


def _number(place: Workplace, expected: dict[str, float]) -> Output:
    sets = {name: place.results[f"descriptors/{name}"].rows for name in expected}
    return Output(number_tags(all_descriptors(place), set_weights(expected, sets)))


def _sets(place: Workplace) -> Output:
    return Output(numbered_sets(all_descriptors(place), place.frame("tags")))
