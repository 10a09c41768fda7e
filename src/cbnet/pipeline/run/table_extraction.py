"""The table of one router, extracted from the stored tables of all."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

from cbnet.errors import InputError
from cbnet.pipeline.run.configuration import Config
from cbnet.pipeline.run.plan import StageState, states
from cbnet.pipeline.run.stage import StageContext
from cbnet.pipeline.run.table_stages import DESCRIPTORS, MARKS, router_tables
from cbnet.pipeline.spark.filesystem import process_folder, upload
from cbnet.pipeline.spark.results import StoredResult
from cbnet.pipeline.tables.compiled_tables import compile_tables


def extract_table(spark: SparkSession, config: Config, router: str, path: str, tree: int | None) -> dict[str, int]:
    """Write the table of a router to a file, on a tree (from 1) or folded over all; return the bytes of each file.

    A very large table is written to several files: NAME-1.cbt, NAME-2.cbt …
    """
    count = config.network.trees
    if tree is not None and not 1 <= tree <= count:
        raise InputError(f"there is no tree {tree}", hint=f"give a tree from 1 to {count}")
    context = StageContext(spark, config, _results(spark, config))
    node = context.graph.id(router)
    is_folded = tree is None and count > 1
    tables = router_tables(context).of([node], None if is_folded else (tree or 1) - 1)
    sizes = {}
    with TemporaryDirectory(dir=process_folder()) as folder:
        [names] = compile_tables(tables, [node], folder, tags=context.tags, folded=is_folded).values()
        for name in names:
            part = name.removeprefix(str(node)).removesuffix(".cbt")
            target = f"{path.removesuffix('.cbt')}{part}.cbt" if part else path
            upload(spark, Path(folder, name), target)
            sizes[target] = Path(folder, name).stat().st_size
    return sizes


def _results(spark: SparkSession, config: Config) -> dict[str, StoredResult]:
    """Return the stored results of all stages that are needed."""
    if config.router_tables is None:
        hint = "add a line [router_tables] to the configuration, and run the pipeline"
        raise InputError("the tables of the routers are not part of this run", hint=hint)
    needed = {DESCRIPTORS, MARKS, *(["tags"] if config.has_traces else [])}
    results = {}
    for status in states(config, spark):
        if status.name in needed:
            if status.state is not StageState.DONE or status.result is None:
                reason = f" ({status.reason})" if status.reason else ""
                problem = f"the result of the stage {status.name} is {status.state}{reason}"
                raise InputError(problem, hint="run the pipeline first")
            results[status.name] = status.result
    return results
