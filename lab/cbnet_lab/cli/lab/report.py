"""`cbnet lab report`: results of other commands on one HTML page, or a reproduction as Markdown pages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cbnet.cli.console import plural, print_note
from cbnet.cli.options import argument, option, output_option
from cbnet.errors import InputError
from cbnet.files import read_text, unreadable, unwritable

if TYPE_CHECKING:
    from cbnet_lab.report.page import Section

_MAX_ROWS = 10_000  # of a Parquet file
_MAX_SHOWN = 500  # rows of a table


def report(
    paths: list[Path] = argument(
        ..., "", "JSON Lines files (printed by --json), Parquet files, or one folder of lab reproduce or pipeline run."
    ),
    output: Path = output_option(
        Path("report.html"), "Page to write; a folder for Markdown pages of a reproduction.", metavar="PATH", shown=True
    ),
    title: str = option("Results of cbnet", "TEXT", "Title of the page."),
) -> None:
    """Show results of simulate, bench and pipeline run on one self-contained HTML page.

    Example: cbnet lab report simulated.jsonl -o report.html
    """
    from cbnet_lab.report.page import Page, html

    if len(paths) == 1 and paths[0].is_dir():
        manifests = _pipeline_manifests(paths[0])
        if not manifests:
            _write_reproduction(paths[0], output)
            return
        from cbnet_lab.report.pipeline_page import pipeline_page

        page = pipeline_page(str(paths[0]), manifests)
    else:
        page = Page(title, [], [section for path in paths for section in _sections(path)])
    try:
        output.write_text(html(page), encoding="utf-8")
    except OSError as error:
        raise unwritable(output, error) from None
    print_note(f"{output}: {plural(len(page.sections), 'section')}")


def _pipeline_manifests(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the manifests of the stages in the folder of a pipeline run, by stage, in the order of their writing."""
    manifests = []
    for file in folder.glob("*/_cbnet.json"):
        try:
            manifest = json.loads(file.read_bytes())
        except ValueError:
            raise InputError("this is not a manifest", hint="run the stage again", file=str(file)) from None
        if "stage" in manifest:  # else of `cbnet lab reproduce`
            manifests.append(manifest)
    return {manifest["stage"]: manifest for manifest in sorted(manifests, key=itemgetter("written"))}


def _write_reproduction(results: Path, output: Path) -> None:
    """Write the Markdown pages of the stored results of `cbnet lab reproduce`, of whatever version; run nothing."""
    from cbnet_lab.experiments.page import write_markdown
    from cbnet_lab.experiments.reproduce import stored_outcomes

    outcomes = stored_outcomes(results)
    if not outcomes:
        hint = "give the folder of `cbnet lab reproduce` or `cbnet pipeline run`"
        raise InputError("no results in this folder", hint=hint, file=str(results))
    if output.suffix == ".html":
        raise InputError("a reproduction is written as several pages", hint="give --output FOLDER", file=str(output))
    print_note(f"{output}: {plural(write_markdown(outcomes, output), 'page')}")


def _sections(path: Path) -> Iterator[Section]:
    """Yield a section for each kind of rows in a file: a command may print several."""
    if path.is_dir():
        hint = "give a folder of `cbnet lab reproduce` or `cbnet pipeline run` alone"
        raise InputError("this is a folder, not a file of rows", hint=hint, file=str(path))
    rows = _parquet_rows(path) if path.suffix == ".parquet" else _json_rows(path)
    if not rows:
        raise InputError("there are no rows", file=str(path))
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row), []).append(row)
    for number, group in enumerate(groups.values(), 1):
        yield rows_section(str(path) if number == 1 else f"{path}, part {number}", group)


def rows_section(name: str, rows: Sequence[dict[str, Any]]) -> Section:
    """Return a section with a table of rows that have the same columns; name: their source, unique on the page."""
    from cbnet_lab.report.page import Section, rows_grid

    shown = [{head.replace("_", " "): value for head, value in row.items()} for row in rows[:_MAX_SHOWN]]
    text = [] if len(rows) <= _MAX_SHOWN else [f"The first {_MAX_SHOWN:,} of {len(rows):,} rows."]
    anchor = "".join(char if char.isalnum() else "-" for char in name)
    return Section(name, anchor, text, [rows_grid(shown, "All rows")])


def _json_rows(path: Path) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        try:
            row = json.loads(line.strip() or "{}")
        except ValueError:
            row = None
        if not isinstance(row, dict):
            hint = "use the output of a command with --json"
            raise InputError("this line is not a JSON object", hint=hint, file=str(path), line=number)
        rows += [row] if row else []
    return rows


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
