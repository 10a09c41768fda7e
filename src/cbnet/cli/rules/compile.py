"""`cbnet compile`: compile rules to a table file."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from cbnet.cli.console import plural, print_json
from cbnet.cli.options import DIALECT, JSON, RULES, flag, option, output_option
from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.matching.compiled_table import CompiledTable


def compile(
    rules: Path = RULES,
    output: Path = output_option(..., "Table file to write, usually *.cbt.", metavar="TABLE"),
    engine: str = option("pivot", "NAME", "Matching engine: pivot, counting, tags or bloom."),
    reduce: bool = flag(
        "Omit filters that another filter of the same rule covers.", name="--reduce/--no-reduce", default=True
    ),
    dialect: str = DIALECT,
    json: bool = JSON,
) -> None:
    """Compile rules to a table file, which many processes can map into memory at once.

    Example: cbnet compile --rules rules.toml -o rules.cbt
    """
    from cbnet.cli.console import step_progress
    from cbnet.matching.compiled_table import CompiledTable
    from cbnet.matching.engines import registry
    from cbnet.matching.files.rule_files import read_columns

    registry.engine(engine)  # checked before a long build
    _check_output(output, rules)
    start = perf_counter()
    with step_progress() as report:
        report("reading rules")
        columns, details = read_columns(rules, dialect=dialect)
        compiled = CompiledTable.build(columns, engine, report, reduce=reduce, rules=details)
        report("writing the table")
        size = compiled.save(output)
    summary = _summary(compiled, size, perf_counter() - start)
    if json:
        print_json(summary)
    else:
        print(f"{output}: {_line(summary)}")


def _check_output(output: Path, rules: Path) -> None:
    """Check before a long build that the table can be written."""
    if not output.parent.is_dir():
        raise InputError(f"there is no folder {str(output.parent)!r}", hint="create it first", file=str(output))
    if output.is_dir():
        raise InputError("this is a folder", hint="give a file name", file=str(output))
    if output.exists() and rules.exists() and output.samefile(rules):
        raise InputError("the table would overwrite its rules", hint="choose another name", file=str(output))


def _summary(compiled: CompiledTable, size: int, seconds: float) -> dict[str, Any]:
    metadata = compiled.metadata
    return {
        "rules": metadata["interfaces"],
        "filters": metadata["filters"],
        "covered": metadata["covered"],
        "constraints": metadata["constraints"],
        "bytes": size,
        "bytes_per_constraint": round(size / max(1, metadata["constraints"]), 1),
        "seconds": round(seconds, 3),
    }


def _line(summary: dict[str, Any]) -> str:
    counts = [plural(summary[f"{noun}s"], noun) for noun in ("rule", "filter", "constraint", "byte")]
    covered = f" ({summary['covered']:,} covered by others)" if summary["covered"] else ""
    counts[1] += covered
    return f"{', '.join(counts)}, {summary['bytes_per_constraint']} per constraint, {summary['seconds']:.1f} seconds"
