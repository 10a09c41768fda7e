"""Model files: how does a model reach a file, or the executors?"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from cbnet.matching.storage.tag_sets import TagSets
from cbnet.pipeline.population.model import Model
from cbnet.pipeline.spark.shipped_arrays import Shipped, ship


def ship_model(spark: SparkSession, model: Model) -> Shipped:
    """Give a model to all executors of a session."""
    return ship(spark, model_arrays(model))


@lru_cache(maxsize=8)
def open_model(shipped: Shipped) -> Model:
    """Return a model where a task runs; what it derives from its arrays is kept as long as the process."""
    return model_of(shipped.arrays())


def model_arrays(model: Model) -> dict[str, NDArray[Any]]:
    """Return what makes a model, as arrays."""
    return {
        "offsets": model.sets.offsets,
        "tags": model.sets.tags,
        "mutation": np.array([model.mutation]),
        "numbers": np.array([model.first_new, model.stride], dtype=np.int64),
    }


def model_of(arrays: dict[str, NDArray[Any]]) -> Model:
    """Return the model of arrays as `model_arrays` gives them."""
    first_new, stride = arrays["numbers"].tolist()
    return Model(TagSets(arrays["offsets"], arrays["tags"]), float(arrays["mutation"][0]), first_new, stride)
