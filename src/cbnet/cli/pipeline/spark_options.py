"""Options of the commands on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cbnet.cli.options import flag, key_values, option
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

    master: str | None = option(
        None,
        "URL",
        "Spark master: local[*], spark://host:7077, yarn or k8s://…",
        shown="of spark-submit or spark-defaults.conf, else local[*]",
    )
    remote: str | None = option(None, "URL", "Spark Connect server, such as sc://host:15002.", shown="SPARK_REMOTE")
    conf: list[str] | None = option(None, "KEY=VALUE", "Spark setting; repeatable.")

    def session(self, name: str, *, classic: bool = False) -> LazySession:
        """Return the session of a command, which starts when it is needed."""
        from cbnet.pipeline.spark.session import LazySession

        return LazySession(name, master=self.master, remote=self.remote, conf=settings(self.conf), classic=classic)


@dataclass(frozen=True)
class MatchOptions:
    """The form of messages, and of the results."""

    schema: str | None = option(None, "DDL", "Columns, such as 'id bigint, price double'.", shown="from the files")
    types: list[str] | None = option(
        None, "NAME=TYPE", "Type of a CSV column: int, float, bool or string; `all`: of the others; repeatable."
    )
    reader_options: list[str] | None = option(
        None, "KEY=VALUE", "Option of Spark's reader; repeatable.", name="--option"
    )
    select: list[str] | None = option(None, "COLUMN", "Column of the result; repeatable.", shown="all")
    column: list[str] | None = option(None, "COLUMN", "Column to match; repeatable.", shown="all")
    details: bool = flag("Write the priority and the metadata of rules beside their names.")
    filters: bool = flag("Write a row for each matching filter, with its text.")
    buckets: int | None = option(
        None, "N", "Buckets to which rules are hashed; 0 writes without a shuffle.", shown="16; of a stream, 4", least=0
    )
    on_error: ErrorPolicy = option(
        ErrorPolicy.COLUMN,
        "",
        "Policy for invalid messages; column: write them to OUTPUT/rejected, with the reason in a column.",
    )

    def members(self) -> dict[str, Any]:
        """Return the options as members of a job or stream."""
        buckets = {} if self.buckets is None else {"buckets": self.buckets}
        return {
            "schema": self.schema, "types": key_values("--types", self.types),
            "options": key_values("--option", self.reader_options), "key": self.select,
            "columns": self.column, "details": self.details, "filters": self.filters,
            "on_error": self.on_error.value, **buckets,
        }  # fmt: skip


TABLES = option(
    ..., "FILE", "Compiled table (.cbt) or rule file; repeat it for the parts of one table.", name="--rules -r"
)
DRY_RUN = flag("Show the attributes of the columns, and match nothing.", name="--dry-run")


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
