"""Stages from traces to numbered sets: sources ─► descriptors per application ─► tags ─► sets [2014 §4.2.1].

The stage `fit` fits one law of tags to several sources, and compares it with those and others. A source that is held
out gives the numbers and sizes of the sets of its users, and nothing else: the tags follow the law of the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from functools import partial, reduce
from typing import Any

import msgspec
import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet.errors import InputError
from cbnet.pipeline.derive.applications import derive, web_subscriptions
from cbnet.pipeline.ingest.readers import Reading, read
from cbnet.pipeline.ingest.source import Source
from cbnet.pipeline.population.application_models import user_trace
from cbnet.pipeline.population.law_fit import compare, fit_activity, fit_models, mean_law
from cbnet.pipeline.population.user_model import UserModel, model_table
from cbnet.pipeline.population.user_trace import UserTrace
from cbnet.pipeline.run.configuration import ApplicationConfig, Config
from cbnet.pipeline.run.stage import Output, Stage, StageContext
from cbnet.pipeline.schemas import DESCRIPTORS
from cbnet.pipeline.spark.filesystem import delete, spark_path
from cbnet.pipeline.spark.results import Facts, Provenance, StoredFiles, write_result
from cbnet.pipeline.tables.dictionary import number_tags, numbered_sets, set_weights


def trace_stages(config: Config) -> Iterator[Stage]:
    """Yield the stages up to the fit and to numbered sets, if anything reads a trace."""
    fitted = [*config.fit.read, *config.fit.held_out] if config.fit else []
    read = [source for app in config.applications.values() for source in _sources(app)]
    for name in dict.fromkeys([*read, *fitted]):
        yield _ingest_stage(name, config.sources[name])
    if config.fit:
        needs = tuple(f"sources/{name}" for name in dict.fromkeys(fitted))
        parameters = msgspec.to_builtins(config.fit) | {
            "cleaning": msgspec.to_builtins(config.cleaning),
            "seed": config.seed,
        }
        yield Stage("fit", fit_sources, parameters, needs)
    apps = traced(config)
    if not apps:
        return
    for name, app in apps.items():
        yield _descriptor_stage(name, app, config)
    descriptors = tuple(f"descriptors/{name}" for name in apps)
    expected = {name: app.share * app.descriptors for name, app in apps.items()}
    yield Stage("tags", partial(_number, expected=expected), {"expected": expected}, descriptors)
    yield Stage("sets", _sets, {}, (*descriptors, "tags"), version=2)


def traced(config: Config) -> dict[str, ApplicationConfig]:
    """Return the applications that read a trace."""
    return {name: app for name, app in config.applications.items() if app.read}


def all_descriptors(context: StageContext) -> DataFrame:
    """Return the descriptors of all applications that read a trace."""
    frames = [context.frame(f"descriptors/{name}") for name in traced(context.config)]
    return reduce(DataFrame.unionByName, frames)


def _sources(app: ApplicationConfig) -> list[str]:
    return [name for name in (*app.read, app.authors, app.followers) if name]


def _ingest_stage(name: str, source: Source) -> Stage:
    parameters: dict[str, Any] = msgspec.to_builtins(source)
    del parameters["path"], parameters["vocabulary"]  # the files' content counts, not their location
    files = (*source.paths, *([source.vocabulary] if source.vocabulary else []))
    return Stage(f"sources/{name}", partial(_ingest, name=name, source=source), parameters, files=files)


def _ingest(context: StageContext, name: str, source: Source) -> Output:
    vocabulary = spark_path(source.vocabulary) if source.vocabulary else ""
    paths = tuple(map(spark_path, source.paths))
    reading = read(context.spark, msgspec.structs.replace(source, path=paths, vocabulary=vocabulary))
    return Output(reading.rows, partial(_check, context, reading, f"rejected/{name}"))


def _check(context: StageContext, reading: Reading, name: str, _: StoredFiles) -> Facts:
    """Write malformed rows to a folder and return their counts; raise an error if there are too many."""
    counts, out = reading.counts(), context.config.out
    folder = f"{out}/{name}"
    if counts.rejected:
        folder = write_result(context.spark, reading.rejected(), out, name, Provenance(name)).stored.folder
    else:
        delete(context.spark, folder)
    try:
        reading.check()
    except InputError as error:
        raise InputError(error.problem, hint=f"{error.hint}; the rows are in {folder}") from None
    return {"lines": counts.lines, "rejected": dict(counts.rejected), "aside": folder if counts.rejected else None}


def _descriptor_stage(name: str, app: ApplicationConfig, config: Config) -> Stage:
    cleaning = msgspec.to_builtins(config.cleaning)
    topics = {"topics": msgspec.to_builtins(config.topics)} if app.kind == "blog" else {}
    needs = tuple(f"sources/{source}" for source in _sources(app))
    parameters = {"kind": app.kind, "cleaning": cleaning, **topics}
    return Stage(f"descriptors/{name}", partial(_derive, name=name, app=app), parameters, needs)


def _derive(context: StageContext, name: str, app: ApplicationConfig) -> Output:
    def source(name: str) -> DataFrame | None:
        return context.frame(f"sources/{name}") if name else None

    derivation = derive(
        app.kind,
        [context.frame(f"sources/{name}") for name in app.read],
        authors=source(app.authors),
        follows=source(app.followers),
        cleaning=context.config.cleaning,
        topics=context.config.topics,
    )
    named = derivation.descriptors.withColumn("app", F.lit(name)).select(*DESCRIPTORS.names)
    return Output(named, lambda _: {"yield": asdict(derivation.counts())})


def _number(context: StageContext, expected: dict[str, float]) -> Output:
    sets = {name: context.results[f"descriptors/{name}"].rows for name in expected}
    return Output(number_tags(all_descriptors(context), set_weights(expected, sets)))


def _sets(context: StageContext) -> Output:
    return Output(numbered_sets(all_descriptors(context), context.frame("tags")))


def fit_sources(context: StageContext) -> Output:
    """Fit a law to sources, and compare it with all of them."""
    config, fit = context.config, context.config.fit
    assert fit is not None
    traces = {name: _trace(context, name) for name in (*fit.read, *fit.held_out)}
    fitted = fit_models([traces[name] for name in fit.read], seed=config.seed)
    models = dict(zip(fit.read, fitted, strict=True))
    law = mean_law([model.law for model in fitted])
    for name in fit.held_out:
        models[name] = UserModel(law, fit_activity(traces[name]), np.zeros(0, dtype=np.int32))
    return Output(
        context.spark.createDataFrame(model_table(models)),
        lambda _: {
            "law": asdict(law),
            "heads": {name: model.law.head for name, model in models.items()},
            "fits": {
                name: {"held_out": name in fit.held_out, **compare(model, traces[name])}
                for name, model in models.items()
            },
        },
    )


def _trace(context: StageContext, name: str) -> UserTrace:
    # Users repeat sets: without the repetitions, the law of a user would be another one.
    cleaning: Any = msgspec.structs.replace(context.config.cleaning, duplicates=False)
    rows = web_subscriptions(context.frame(f"sources/{name}"), cleaning).descriptors
    return user_trace(rows, f"source {name!r}")
