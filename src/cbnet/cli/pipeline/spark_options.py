"""Spark options: what may all commands on Spark be told?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from cbnet.errors import InputError

Tables = Annotated[
    list[str], typer.Option("--table", help="A compiled table; repeat it for tables that are parts of one.")
]
Schema = Annotated[
    str | None, typer.Option("--schema", help="Columns, as 'id bigint, price double'; else the files say them.")
]
Options = Annotated[list[str] | None, typer.Option("--option", help="KEY=VALUE for Spark's reader of the format.")]
Keys = Annotated[list[str] | None, typer.Option("--key", help="A column of the result; by default all are.")]
Columns = Annotated[list[str] | None, typer.Option("--column", help="A column that is matched; by default all are.")]
Filters = Annotated[bool, typer.Option("--filters", help="A row for each matching filter, with its text.")]
Buckets = Annotated[
    int, typer.Option("--buckets", min=0, help="Folders that the interfaces share by hash; 0: none, and no shuffle.")
]
Master = Annotated[str, typer.Option("--master", help="local[*], spark://host:7077, yarn or k8s://…")]
Conf = Annotated[list[str] | None, typer.Option("--conf", help="KEY=VALUE, any setting of Spark.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show which column is which attribute, and match nothing.")]


def check_tables(tables: Sequence[str]) -> None:
    """Refuse tables that are not there, before Spark starts."""
    for table in tables:
        if not Path(table).is_file():
            raise InputError("there is no such table", hint="make one with `cbnet compile`", file=table)


def pairs(option: str, said: Sequence[str] | None) -> dict[str, str]:
    """Return what KEY=VALUE options say."""
    found = {}
    for text in said or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InputError(f"{option}: {text!r} is not KEY=VALUE", hint=f"write {option} key=value")
        found[key.strip()] = value
    return found
