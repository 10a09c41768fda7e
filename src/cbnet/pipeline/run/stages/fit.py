"""The stage `fit`: one law of tags for several sources, and how it fits those and others [2014 §4.2.1].

A source that is held out gives the numbers and sizes of the sets of its users, and nothing else: the tags follow the
law of the other sources.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import msgspec
import numpy as np

from cbnet.pipeline.derive.applications import web_subscriptions
from cbnet.pipeline.population.law_fit import fit_activity, fit_models, mean_law
from cbnet.pipeline.population.model_file import model_table
from cbnet.pipeline.population.model_fit import compare
from cbnet.pipeline.population.trace_models import user_trace
from cbnet.pipeline.population.user_model import UserModel
from cbnet.pipeline.population.user_trace import UserTrace
from cbnet.pipeline.run.stage import Output, StageContext


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
