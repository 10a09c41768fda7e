"""Leftovers in an output folder: results of stages that no longer belong to the configuration, and old snapshots.

Files that no run has written are not touched.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import SparkSession

from cbnet.errors import InputError
from cbnet.pipeline.run.configuration import Config
from cbnet.pipeline.run.plan import stages_of
from cbnet.pipeline.spark.filesystem import delete, folder_size, list_names
from cbnet.pipeline.spark.lock import locked
from cbnet.pipeline.spark.results import is_snapshot, read_result


def leftovers(config: Config, spark: SparkSession | None = None) -> dict[str, int]:
    """Return the sizes of leftovers in bytes, by their names below the output folder."""
    names = [stage.name for stage in stages_of(config)]
    known = {*names, *(name.replace("sources/", "rejected/", 1) for name in names if name.startswith("sources/"))}
    out = config.out
    return {name: folder_size(spark, f"{out}/{name}") for name in _leftover_names(spark, out, known)}


def clean(config: Config, spark: SparkSession | None = None) -> dict[str, int]:
    """Delete the leftovers and return their sizes; another run in the same folder is an error."""
    if not leftovers(config, spark):
        return {}
    with locked(spark, config.out):
        found = leftovers(config, spark)
        for name in found:
            delete(spark, f"{config.out}/{name}")
    return found


def _leftover_names(spark: SparkSession | None, out: str, known: set[str]) -> Iterator[str]:
    for top in list_names(spark, out):
        below = [f"{top}/{name}" for name in list_names(spark, f"{out}/{top}")]
        for name in [top] if top in known or _is_result(below) else below:
            inside = below if name == top else _below(spark, out, name)
            if name in known:
                yield from _strays(spark, out, name, inside)
            elif _is_result(inside):
                yield name


def _below(spark: SparkSession | None, out: str, name: str) -> list[str]:
    return [f"{name}/{each}" for each in list_names(spark, f"{out}/{name}")]


def _is_result(names: list[str]) -> bool:
    """Return whether a folder with these contents is that of a stage."""
    return any(map(is_snapshot, names))


def _strays(spark: SparkSession | None, out: str, stage: str, names: list[str]) -> Iterator[str]:
    """Yield the snapshots in the folder of a stage but the current one: abandoned ones, and the one before."""
    try:
        stored = read_result(spark, f"{out}/{stage}")
    except InputError:  # the stage runs again, and then replaces it
        stored = None
    current = None if stored is None else stored.snapshot.folder.removeprefix(f"{out}/")
    yield from (name for name in names if is_snapshot(name) and name != current)
