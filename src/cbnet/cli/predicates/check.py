"""`cbnet check`: parse a predicate and show its normal form."""

from __future__ import annotations

from typing import Annotated

import typer

from cbnet.cli.console import print_json
from cbnet.cli.options import Dialect, Json


def check(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Predicate, in quotes.", show_default=False)],
    dialect: Dialect = "cbnet",
    json: Json = False,
) -> None:
    """Parse a predicate, and show its normal form, its reduction and its size.

    A rule in another dialect is translated.

    Example: cbnet check '(x > 10 and y = 100) or (y > 0)'
    """
    from cbnet.language import parse, reduce, size

    predicate = parse(text, dialect=dialect)
    reduced = reduce(predicate)
    if json:
        print_json({"predicate": str(predicate), "reduced": str(reduced), "size": size(predicate)})
        return
    print(f"predicate  {predicate}")
    print(f"reduced    {reduced}")
    print(f"size       {size(predicate)}, reduced {size(reduced)}")
