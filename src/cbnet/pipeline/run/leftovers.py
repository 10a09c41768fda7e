"""Leftovers in an output folder: results of stages that the configuration no longer has, and files of a killed run.

Files that no run has written are not touched.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import SparkSession

from cbnet.errors import InputError
from cbnet.pipeline.run.configuration import Config
from cbnet.pipeline.run.plan import stages_of
from cbnet.pipeline.spark.filesystem import delete, folder_files, list_names
from cbnet.pipeline.spark.lock import locked
from cbnet.pipeline.spark.results import MANIFEST, NEW, OLD, clean_up, read_result


def leftovers(config: Config, spark: SparkSession | None = None) -> dict[str, int]:
    """Return the sizes of leftovers in bytes, by their names below the output folder."""
    names = [stage.name for stage in stages_of(config)]
    known = {*names, *(name.replace("sources/", "rejected/", 1) for name in names if name.startswith("sources/"))}
    out = config.out
    return {name: sum(folder_files(spark, f"{out}/{name}").values()) for name in _leftover_names(spark, out, known)}


def clean(config: Config, spark: SparkSession | None = None) -> dict[str, int]:
    """Delete the leftovers and return their sizes; another run in the same folder is an error."""
    if not leftovers(config, spark):
        return {}
    with locked(spark, config.out):
        found = leftovers(config, spark)
        clean_up(spark, config.out)
        for name in found:
            delete(spark, f"{config.out}/{name}")
    return found


def _leftover_names(spark: SparkSession | None, out: str, known: set[str]) -> Iterator[str]:
    for top in list_names(spark, out):
        if top in (NEW, OLD) or (top not in known and _is_result(spark, f"{out}/{top}")):
            yield top
        elif top not in known:
            names = (f"{top}/{name}" for name in list_names(spark, f"{out}/{top}"))
            yield from (name for name in names if name not in known and _is_result(spark, f"{out}/{name}"))


def _is_result(spark: SparkSession | None, folder: str) -> bool:
    """Return whether a folder is that of a stage."""
    try:
        return MANIFEST in list_names(spark, folder) and read_result(spark, folder) is not None
    except InputError:
        return False
