"""`cbnet lab report`: the pages of stored results of `cbnet lab reproduce`."""

from __future__ import annotations

from pathlib import Path

from cbnet.cli.console import plural, print_note
from cbnet.cli.options import argument, output_option
from cbnet.errors import InputError


def report(
    folder: Path = argument(..., "FOLDER", "Folder of `cbnet lab reproduce`."),
    output: Path = output_option(..., "Folder for the pages."),
) -> None:
    """Write the Markdown pages of the stored results of `cbnet lab reproduce`, of whatever version; run nothing.

    Example: cbnet lab report results -o docs/reproduction
    """
    from cbnet_lab.experiments.page import write_pages
    from cbnet_lab.experiments.reproduce import stored_outcomes

    outcomes = stored_outcomes(folder)
    if not outcomes:
        raise InputError("no results in this folder", hint="give the folder of `cbnet lab reproduce`", file=str(folder))
    print_note(f"{output}: {plural(write_pages(outcomes, output), 'page')}")
