"""Options of the commands on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cbnet.cli.options import flag, option
from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.pipeline.spark.session import LazySession


class ErrorPolicy(StrEnum):
    """Policy for rows that are not valid messages."""

    FAIL = "fail"
    DROP = "drop"
    COLUMN = "column"


@dataclass(frozen=True)
class SessionOptions:
    """Where Spark runs, and its settings."""

    master: Annotated[
        str | None,
        option(
            "--master",
            "URL",
            "Spark master: local[*], spark://host:7077, yarn or k8s://…",
            shown="of spark-submit or spark-defaults.conf, else local[*]",
        ),
    ] = None
    remote: Annotated[
        str | None, option("--remote", "URL", "Spark Connect server, such as sc://host:15002.", shown="SPARK_REMOTE")
    ] = None
    conf: Annotated[list[str] | None, option("--conf", "KEY=VALUE", "Spark setting; repeatable.")] = None

    def session(self, name: str, *, classic: bool = False) -> LazySession:
        """Return the session of a command, which starts when it is needed."""
        from cbnet.pipeline.spark.session import LazySession

        return LazySession(name, master=self.master, remote=self.remote, conf=settings(self.conf), classic=classic)


@dataclass(frozen=True)
class MatchOptions:
    """The form of messages, and of the results."""

    schema: Annotated[
        str | None, option("--schema", "DDL", "Columns, such as 'id bigint, price double'.", shown="from the files")
    ] = None
    reader_options: Annotated[
        list[str] | None, option("--option", "KEY=VALUE", "Option of Spark's reader; repeatable.")
    ] = None
    select: Annotated[
        list[str] | None, option("--select", "COLUMN", "Column of the result; repeatable.", shown="all")
    ] = None
    column: Annotated[list[str] | None, option("--column", "COLUMN", "Column to match; repeatable.", shown="all")] = (
        None
    )
    filters: Annotated[bool, flag("--filters", "Write a row for each matching filter, with its text.")] = False
    buckets: Annotated[
        int | None,
        option(
            "--buckets",
            "N",
            "Buckets to which rules are hashed; 0 writes without a shuffle.",
            shown="16; of a stream, 4",
            min=0,
        ),
    ] = None
    on_error: Annotated[
        ErrorPolicy,
        option(
            "--on-error",
            "",
            "Policy for invalid messages; column: write them to OUTPUT/rejected, with the reason in a column.",
        ),
    ] = ErrorPolicy.COLUMN

    def members(self) -> dict[str, Any]:
        """Return the options as members of a job or stream."""
        buckets = {} if self.buckets is None else {"buckets": self.buckets}
        return {
            "schema": self.schema, "options": key_values("--option", self.reader_options), "key": self.select,
            "columns": self.column, "filters": self.filters, "on_error": self.on_error.value, **buckets,
        }  # fmt: skip


Tables = Annotated[
    list[str], option("--rules -r", "FILE", "Compiled table (.cbt) or rule file; repeat it for the parts of one table.")
]
DryRun = Annotated[bool, flag("--dry-run", "Show the attributes of the columns, and match nothing.")]


def check_output(output: str | None, *, is_dry_run: bool) -> None:
    """Raise an error if there is neither an output folder nor a dry run."""
    if output is None and not is_dry_run:
        raise InputError("no output folder given", hint="give one with --output, or check the columns with --dry-run")


def check_tables(tables: Sequence[str]) -> None:
    """Raise an error for a missing table before Spark starts."""
    for table in tables:
        if ":/" not in table and not Path(table).is_file():
            raise InputError("no such table", hint="give a compiled table or a rule file", file=table)


def settings(conf: Sequence[str] | None) -> dict[str, str]:
    """Return the Spark settings of `--conf`."""
    pairs = key_values("--conf", conf)
    for key in pairs:
        if not key.startswith("spark."):
            raise InputError(f"--conf {key!r} is not a Spark setting", hint="write --conf spark.driver.memory=4g")
    return pairs


def key_values(option: str, texts: Sequence[str] | None) -> dict[str, str]:
    """Return the pairs of a repeated KEY=VALUE option."""
    pairs = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InputError(f"{option}: {text!r} is not KEY=VALUE", hint=f"write {option} key=value")
        pairs[key.strip()] = value
    return pairs
