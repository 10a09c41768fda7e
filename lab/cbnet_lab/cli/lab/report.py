"""`cbnet lab report`: a run of the pipeline on one HTML page, or a reproduction as Markdown pages."""

from __future__ import annotations

import json
from operator import itemgetter
from pathlib import Path
from typing import Any

from cbnet.cli.console import plural, print_note
from cbnet.cli.options import argument, output_option
from cbnet.errors import InputError
from cbnet.files import unwritable


def report(
    folder: Path = argument(..., "FOLDER", "Folder of `cbnet lab reproduce` or `cbnet pipeline run`."),
    output: Path = output_option(
        Path("report.html"), "Page to write; a folder for Markdown pages of a reproduction.", metavar="PATH", shown=True
    ),
) -> None:
    """Show the results of a pipeline run on one self-contained HTML page, or of a reproduction as Markdown pages.

    Example: cbnet lab report results -o docs/reproduction
    """
    manifests = _pipeline_manifests(folder)
    if not manifests:
        _write_reproduction(folder, output)
        return
    from cbnet_lab.report.page import html
    from cbnet_lab.report.pipeline_page import pipeline_page

    page = pipeline_page(str(folder), manifests)
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
