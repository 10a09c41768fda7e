"""From models of traces to what every node says: models ─► population ─► loads, predicates [2014 §4.2.2]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial

import numpy as np
import pyarrow as pa

from cbnet.matching.storage.tag_sets import TagSets
from cbnet.pipeline.population.model import Model
from cbnet.pipeline.population.model_fit import compare
from cbnet.pipeline.population.population import population
from cbnet.pipeline.population.trace_models import models_of_traces, models_without_traces
from cbnet.pipeline.run.configuration import Config
from cbnet.pipeline.run.stage import Output, Stage, Workplace
from cbnet.pipeline.run.stages.network_identity import network_files, network_parameters
from cbnet.pipeline.schemas import MODELS, arrow_schema
from cbnet.pipeline.spark.results import Facts
from cbnet.pipeline.tables.fib import node_predicates
from cbnet.pipeline.tables.table1 import node_loads


def people_stages(config: Config) -> Iterator[Stage]:
    """Yield the stages from models to the predicates of the nodes."""
    apps = {name: app.kind for name, app in config.applications.items()}
    needs = ("sets", "tags") if config.has_traces else ()
    yield Stage("models", _models, {"applications": apps, "seed": config.seed}, needs)
    users = config.network.users
    parameters = {
        **network_parameters(config),
        "clusters": config.population.clusters,
        "applications": [asdict(app.elected(name)) for name, app in config.applications.items()],
    }
    files = (*network_files(config), *([users] if users else []))
    yield Stage("population", _population, parameters, ("models",), files)
    yield Stage("loads", _loads, {}, ("population",))
    yield Stage("predicates", _predicates, {}, ("population",))


def _models(place: Workplace) -> Output:
    apps, seed = place.config.applications, place.config.seed
    if place.config.has_traces:
        models = models_of_traces(place.frame("sets"), [*apps], place.results["tags"].rows, seed=seed)
    else:
        of_kinds = models_without_traces([*dict.fromkeys(app.kind for app in apps.values())], seed=seed)
        models = {name: of_kinds[app.kind] for name, app in apps.items()}
    table = model_table(models)
    return Output(place.spark.createDataFrame(table), partial(_fits, models))


def model_table(models: Mapping[str, Model]) -> pa.Table:
    """Return models as rows of MODELS: few, each with all its sets."""
    rows = [
        {
            "app": app,
            "mutation": model.mutation,
            "first_new": model.first_new,
            "stride": model.stride,
            "offsets": model.sets.offsets,
            "tags": model.sets.tags,
        }
        for app, model in models.items()
    ]
    return pa.Table.from_pylist(rows, schema=arrow_schema(MODELS))


def models_of_table(table: pa.Table) -> dict[str, Model]:
    """Return the models of such rows."""
    rows = table.combine_chunks().to_batches()
    return {
        batch["app"][place].as_py(): Model(
            TagSets(np.asarray(batch["offsets"][place].values), np.asarray(batch["tags"][place].values)),
            batch["mutation"][place].as_py(),
            batch["first_new"][place].as_py(),
            batch["stride"][place].as_py(),
        )
        for batch in rows
        for place in range(batch.num_rows)
    }


def _fits(models: Mapping[str, Model]) -> Facts:
    """Return how each model looks beside its trace, at the trace's own size."""
    return {"fits": {app: {"sets": len(model.sets), "measures": compare(model)} for app, model in models.items()}}


def _population(place: Workplace) -> Output:
    models = models_of_table(place.frame("models").toArrow())
    apps = [app.elected(name) for name, app in place.config.applications.items()]
    return Output(population(place.spark, models, place.first_clusters, applications=apps, seed=place.config.seed))


def _loads(place: Workplace) -> Output:
    return Output(node_loads(place.frame("population")))


def _predicates(place: Workplace) -> Output:
    return Output(node_predicates(place.frame("population"), len(place.graph)))
