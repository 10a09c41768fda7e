"""What jobs and streams have in common: the form of the messages, the tables, and the form of the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cbnet.pipeline.match.batch_matcher import COLUMN, DROP, FAIL, OnError
from cbnet.pipeline.match.shipped_tables import AnyTable


@dataclass(frozen=True, kw_only=True)
class MatchTask:
    """The form of the messages, the tables, and the form of the result."""

    format: str
    tables: Sequence[AnyTable]
    schema: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    key: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    filters: bool = False
    on_error: OnError = COLUMN

    @property
    def policy(self) -> OnError:
        """The policy for matching: rejected rows are collected afterwards, if there are any."""
        return FAIL if self.on_error == FAIL else DROP
