"""Sources: the files of a trace and their layout, as one section of a configuration:

path = "traces/bookmarks.tsv.gz"
format = "tagged"
header = true
columns = { user = "who", item = "url", tags = 4 }
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from cbnet.errors import InputError
from cbnet.pipeline.ingest.presets import preset

Format = Literal["tagged", "tweets", "posts", "pairs", "follows", "wordcounts", "table", "quotes"]
Type = Literal["string", "int", "float", "bool", "tags"]
BLANKS = " "  # as a separator: any run of white space

# Format -> its columns: required | optional.
_COLUMNS = {
    "tagged": "tags | user item",
    "posts": "user text | item",
    "pairs": "user item |",
    "follows": "follower author |",
}


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The files of a trace and their layout; see docs/reference/traces.md."""

    path: str | tuple[str, ...]
    format: Format
    separator: str = "\t"
    quoted: bool = False
    header: bool = False
    comment: str = ""
    columns: dict[str, str | int] = {}
    types: dict[str, Type] = {}
    absent: tuple[str, ...] = ("",)
    tag_separator: str = BLANKS
    tag_prefix: str = ""
    vocabulary: str = ""
    max_rejected: float = 0.01

    @property
    def paths(self) -> list[str]:
        """Return the files, folders or patterns."""
        return [self.path] if isinstance(self.path, str) else [*self.path]

    @property
    def file_columns(self) -> dict[str, str | int]:
        """Return the name or the number in the file of each column to read."""
        if self.format == "table":
            return {name: self.columns.get(name, name) for name in self.types}
        return self.columns

    @classmethod
    def of(cls, section: Mapping[str, Any]) -> Source:
        """Build a source from a section of a configuration, over the values of its `preset`."""
        members = dict(section)
        name = members.pop("preset", None)
        try:
            source = msgspec.convert({**(preset(name) if name is not None else {}), **members}, cls)
        except msgspec.ValidationError as error:
            raise InputError(f"source: {_plain(error)}", hint="docs/reference/traces.md lists the keys") from None
        source.check()
        return source

    def check(self) -> None:
        """Check the values beyond their types."""
        for wrong, problem, hint in (
            (not self.paths, "no path", "set path to files or folders"),
            (not self.separator or not self.tag_separator, "a separator is empty", 'write "\\t", ",", "|" or " "'),
            (self.quoted and len(self.separator) > 1, "the separator of quoted fields must be one character", None),
            (not 0 <= self.max_rejected <= 1, "max_rejected must be from 0 to 1", None),
            (self.format == "wordcounts" and not self.vocabulary, "no vocabulary", "set it to the file of words"),
            (self.format in ("table", "quotes") and not self.types, "no types", 'write types = { price = "float" }'),
        ):
            if wrong:
                raise InputError(f"source: {problem}", hint=hint)
        self._check_columns()

    def _check_columns(self) -> None:
        named = [column for column in self.file_columns.values() if isinstance(column, str)]
        if named and not self.header:
            hint = "set header = true, or use column numbers, from 1"
            raise InputError(f"source: column {named[0]!r} is a name, but the file has no header", hint=hint)
        if any(isinstance(column, int) and column < 1 for column in self.file_columns.values()):
            raise InputError("source: columns are counted from 1")
        if self.format not in _COLUMNS:
            return
        needed, _, further = _COLUMNS[self.format].partition("|")
        for column in needed.split():
            if column not in self.columns:
                raise InputError(f"source: no column {column}", hint=f"write columns = {{ {column} = 1 }}")
        known = needed.split() + further.split()
        for column in self.columns:
            if column not in known:
                raise InputError(f"source: {self.format} has no column {column!r}", hint=f"it has {', '.join(known)}")


def _plain(error: msgspec.ValidationError) -> str:
    return str(error).replace("Object", "it").replace("`", "'")
