"""`cbnet lab report`: show results of other commands on one HTML page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cbnet.cli.console import plural, print_note
from cbnet.cli.options import output_option
from cbnet.errors import InputError
from cbnet.files import read_text, unreadable, unwritable

if TYPE_CHECKING:
    from cbnet.lab.report.page import Section

_MANIFEST = "_cbnet.json"
_MAX_ROWS = 10_000  # of a Parquet file


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(help="JSON Lines files (printed by --json), Parquet files, or result folders of a pipeline."),
    ],
    output: Annotated[Path, output_option("Page to write.", metavar="FILE", show_default=True)] = Path("report.html"),
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="Title of the page.")] = "Results of cbnet",
) -> None:
    """Show results of simulate, bench and pipeline on one self-contained HTML page.

    Example: cbnet lab report simulated.jsonl run -o report.html
    """
    from cbnet.lab.report.page import Page, html

    sections = [section for path in paths for section in _sections(path)]
    text = html(Page(title, [], sections))
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise unwritable(output, error) from None
    print_note(f"{output}: {plural(len(sections), 'section')}")


def _sections(path: Path) -> Iterator[Section]:
    from cbnet.lab.report.result_sections import rows_section

    if path.is_dir():
        yield from _folder_sections(path)
        return
    rows = _parquet_rows(path) if path.suffix == ".parquet" else _json_rows(path)
    if not rows:
        raise InputError("there are no rows", file=str(path))
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:  # a command may print several kinds of rows
        groups.setdefault(tuple(row), []).append(row)
    for number, group in enumerate(groups.values(), 1):
        yield rows_section(str(path) if number == 1 else f"{path}, part {number}", group)


def _folder_sections(path: Path) -> Iterator[Section]:
    """Yield the sections about a run of a pipeline."""
    from cbnet.lab.report.pipeline_page import pipeline_page

    stages = {str(file.parent.relative_to(path)): _read_manifest(file) for file in sorted(path.rglob(_MANIFEST))}
    if not stages:
        raise InputError("no pipeline results in this folder", hint=f"there is no {_MANIFEST}", file=str(path))
    if any("stage" not in manifest for manifest in stages.values()):
        hint = "`cbnet lab reproduce` writes report.html itself"
        raise InputError("these are not results of a pipeline", hint=hint, file=str(path))
    by_time = dict(sorted(stages.items(), key=lambda stage: str(stage[1].get("written"))))
    yield from pipeline_page(str(path), by_time).sections


def _read_manifest(file: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError("not a manifest of a pipeline stage", file=str(file)) from None
    return manifest


def _json_rows(path: Path) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.strip():
            rows.append(_row(line, number, path))
    return rows


def _row(line: str, number: int, path: Path) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        hint = "use the output of a command with --json"
        raise InputError("this line is not a JSON object", hint=hint, file=str(path), line=number)
    return row


def _parquet_rows(path: Path) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            batches = file.iter_batches(_MAX_ROWS)
            first = next(batches, None)
            rows: list[dict[str, Any]] = [] if first is None else first.to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from None
    return rows
