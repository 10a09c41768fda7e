"""`cbnet compile`: from predicates to a table file that opens at once."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cbnet.cli.console import AsJson, counted, print_json
from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.matching.compiled_table import Compiled


def compile(
    predicates: Annotated[
        Path,
        typer.Argument(metavar="PREDICATES", help="Predicates: .toml, .jsonl or .parquet.", show_default=False),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="TABLE", help="The file to write, by custom *.cbt.", show_default=False),
    ],
    engine: Annotated[str, typer.Option("--engine", help="What the table is compiled for.")] = "pivot",
    reduce: Annotated[
        bool, typer.Option("--reduce/--no-reduce", help="Set aside filters that others of their interface cover.")
    ] = True,
    json: AsJson = False,
) -> None:
    """Compile predicates to a table file, which many processes can open at once and without waiting.

    Example: cbnet compile predicates.toml -o table.cbt
    """
    from cbnet.cli.predicates.engine_names import checked_engine
    from cbnet.cli.progress import reported_steps
    from cbnet.matching.compiled_table import Compiled
    from cbnet.matching.files.predicate_files import read_columns

    checked_engine(engine)
    _check_output(output, predicates)
    start = perf_counter()
    with reported_steps() as report:
        report("reading predicates")
        columns = read_columns(predicates)
        compiled = Compiled.build(columns, engine, report, reduce=reduce)
        report("writing the table")
        size = compiled.save(output)
    summary = _summary(compiled, size, perf_counter() - start)
    if json:
        print_json(summary)
    else:
        print(f"{output}: {_line(summary)}")


def _check_output(output: Path, predicates: Path) -> None:
    """Refuse, before a long build, what could not be written after it."""
    if not output.parent.is_dir():
        raise InputError(f"there is no folder {str(output.parent)!r}", hint="make it first", file=str(output))
    if output.is_dir():
        raise InputError("this is a folder", hint="name a file in it", file=str(output))
    if output.exists() and predicates.exists() and output.samefile(predicates):
        raise InputError("the table would overwrite its predicates", hint="choose another name", file=str(output))


def _summary(compiled: Compiled, size: int, seconds: float) -> dict[str, Any]:
    about = compiled.about
    return {
        "interfaces": about["interfaces"],
        "filters": about["filters"],
        "covered": about["covered"],
        "constraints": about["constraints"],
        "bytes": size,
        "bytes_per_constraint": round(size / max(1, about["constraints"]), 1),
        "seconds": round(seconds, 3),
    }


def _line(summary: dict[str, Any]) -> str:
    counts = [counted(summary[f"{noun}s"], noun) for noun in ("interface", "filter", "constraint", "byte")]
    covered = f" ({summary['covered']:,} covered by others)" if summary["covered"] else ""
    counts[1] += covered
    return f"{', '.join(counts)}, {summary['bytes_per_constraint']} per constraint, {summary['seconds']:.1f} seconds"
