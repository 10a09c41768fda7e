"""Place of a journal: a folder, or a database of PostgreSQL; and the home that it belongs to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

_URI: Final = re.compile(r"postgres(ql)?://", re.ASCII)
_SECRETS: Final = re.compile(r"(?<=://)([^@/:]*:)[^/]*(?=@)|(?<=[?&])((?:ssl)?password=)[^&]*")


class DatabaseUri(NamedTuple):
    """The address of a database, as libpq reads it: `postgresql://user@host:port/name?option=value`."""

    uri: str

    def __str__(self) -> str:
        """Return the address without passwords."""
        return without_passwords(self.uri)


JournalPlace: TypeAlias = Path | DatabaseUri


class JournalOwner(NamedTuple):
    """The home that a journal belongs to, and the router that uses it."""

    network: str
    home: str
    router: str


def is_database(text: str) -> bool:
    """Return whether the text of a place is the address of a database."""
    return _URI.match(text) is not None


def journal_place(text: str) -> JournalPlace:
    """Return the place that a text names."""
    return DatabaseUri(text) if is_database(text) else Path(text)


def without_passwords(uri: str) -> str:
    """Return the address of a database without passwords; any other text as it is."""
    return _SECRETS.sub(lambda found: f"{found[1] or found[2]}***", uri)
