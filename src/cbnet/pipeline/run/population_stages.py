"""Stages from models to the predicates of every node: models ─► population ─► loads, predicates [2014 §4.2.2]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial

import numpy as np
from pyspark.sql import functions as F  # noqa: N812

from cbnet.pipeline.population.application_models import models_of_apps, user_trace
from cbnet.pipeline.population.law_fit import compare
from cbnet.pipeline.population.user_election import population
from cbnet.pipeline.population.user_model import UserModel, model_table, models_of_table
from cbnet.pipeline.population.user_trace import UserTrace
from cbnet.pipeline.run.configuration import Config
from cbnet.pipeline.run.stage import Output, Stage, StageContext, network_files, network_parameters
from cbnet.pipeline.run.trace_stages import traced
from cbnet.pipeline.spark.results import Facts, StoredFiles
from cbnet.pipeline.tables.fib import node_predicates
from cbnet.pipeline.tables.table_1 import collect_loads, node_loads


def population_stages(config: Config) -> Iterator[Stage]:
    """Yield the stages from models to the predicates of the nodes."""
    apps = {name: app.kind for name, app in config.applications.items()}
    needs = ("sets", "tags") if config.has_traces else ()
    yield Stage("models", _models, {"applications": apps, "seed": config.seed}, needs, version=2)
    users = config.network.users
    parameters = {
        **network_parameters(config),
        "clusters": config.population.clusters,
        "applications": [asdict(app.application(name)) for name, app in config.applications.items()],
    }
    files = (*network_files(config), *([users] if users else []))
    yield Stage("population", _population, parameters, ("models",), files, version=2)
    yield Stage("loads", _loads, {}, ("population",), version=2)
    yield Stage("predicates", _predicates, {}, ("population",))


def _models(context: StageContext) -> Output:
    config = context.config
    kinds = {name: app.kind for name, app in config.applications.items()}
    traces = {name: _trace(context, name) for name in traced(config)}
    known = context.results["tags"].rows if traces else 0
    models = models_of_apps(traces, kinds, known, seed=config.seed)
    return Output(context.spark.createDataFrame(model_table(models)), partial(_fits, models, traces))


def _trace(context: StageContext, app: str) -> UserTrace:
    return user_trace(context.frame("sets").where(F.col("app") == app), f"application {app!r}")


def _fits(models: Mapping[str, UserModel], traces: Mapping[str, UserTrace], _: StoredFiles) -> Facts:
    """Compare each model with its trace; topics are chosen from the trace, so there is nothing to compare."""
    return {"fits": {app: compare(models[app], trace) for app, trace in traces.items() if models[app].topics is None}}


def _population(context: StageContext) -> Output:
    config, models = context.config, models_of_table(context.frame("models").toArrow())
    apps = [app.application(name) for name, app in config.applications.items()]
    return Output(population(context.spark, models, context.first_clusters, applications=apps, seed=config.seed))


def _loads(context: StageContext) -> Output:
    return Output(node_loads(context.frame("population")), partial(_skew, context))


def _skew(context: StageContext, stored: StoredFiles) -> Facts:
    """Return how unequal the loads of the nodes are."""
    loads = collect_loads(stored.frame(context.spark), len(context.graph))
    ranked = np.sort(loads.descriptors)[::-1]
    largest = int(loads.descriptors.argmax())
    return {
        "nodes": len(ranked),
        "nodes_with_descriptors": int(np.count_nonzero(ranked)),
        "descriptors": int(ranked.sum()),
        "tags": int(loads.tags.sum()),
        "largest": {"node": str(context.graph.name(largest)), "descriptors": int(ranked[0])},
        "hundredth": int(ranked[: max(1, len(ranked) // 100)].sum()),  # of the 1 % of nodes with the most
    }


def _predicates(context: StageContext) -> Output:
    return Output(node_predicates(context.frame("population"), len(context.graph)))
