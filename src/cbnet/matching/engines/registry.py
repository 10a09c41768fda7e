"""The engines that compile and match tables, by name.

For all filters:
pivot      each filter filed under its most selective constraint; the default
counting   the papers' algorithm, for comparison

For filters that have tags only:
tags       each descriptor filed under its rarest tags; exact
bloom      a Bloom filter per descriptor [2014 §3.2.3]: no false negatives, few false positives
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cbnet._kernels.counting_match import CountingIndex
from cbnet._kernels.message_encoding import Batch
from cbnet._kernels.pivot_table import PivotIndex
from cbnet._kernels.symbol_table import Symbols
from cbnet._kernels.tag_bloom import BloomIndex
from cbnet._kernels.tag_matcher import TagIndex
from cbnet._kernels.target_set import labelled
from cbnet.errors import UndecidedError, member_of
from cbnet.matching.engines import bloom_table as bloom
from cbnet.matching.engines import counting, pivot
from cbnet.matching.engines import tag_table as tags
from cbnet.matching.storage.columns import Array, Columns

Report = Callable[[str], None]
Sample = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class CountingOptions:
    """Rounds of selectivity [2002 §4.3] and the short-circuit by interface [2001 §3]; the answers are the same."""

    rounds: int = 10
    short_circuit: bool = True


class CountingMatcher:
    """The counting kernel, with the methods of the others."""

    def __init__(self, symbols: Symbols, arrays: dict[str, Array], targets: int) -> None:
        self.index = CountingIndex(symbols, arrays, targets)
        self.options = CountingOptions()

    def match_members(self, members: dict[str, Any], labels: list[Any]) -> list[Any] | None:
        """Return the labels of one message's targets; None if the message is not plain and valid."""
        out = np.empty(self.index.targets, np.uint32)
        try:
            count = self.index.match_members(members, out, self.options.rounds, self.options.short_circuit)
        except UndecidedError as error:
            undecided, found = ([labels[target] for target in each] for each in (error.undecided, error.rules))
            raise UndecidedError(undecided, found, error.limit) from None
        return None if count < 0 else labelled(out, count, labels)

    def match_batch(self, batch: Batch, first: int, end: int) -> tuple[Any, Any, int]:
        """Return offsets and targets of some messages, and the number of postings visited."""
        options = self.options
        offsets, targets, work = self.index.match_batch(batch, first, end, options.rounds, options.short_circuit)
        return offsets, targets, work["postings"]


@dataclass(frozen=True)
class Engine:
    """The functions that build, match and read back tables.

    matcher: from symbols, arrays and the number of targets, a kernel with `match_members` and `match_batch`.
    """

    build: Callable[[Columns, Report, Sample], dict[str, Array]]
    matcher: Callable[[Symbols, dict[str, Array], int], Any]
    filters_of: Callable[[dict[str, Array]], tuple[Array, Array, Array]]
    tags_only: bool = False


_ENGINES = {
    "pivot": Engine(pivot.build, PivotIndex, lambda arrays: pivot.filters_of(arrays)[:3]),
    "counting": Engine(
        lambda columns, report, _: counting.build(columns, report), CountingMatcher, counting.filters_of
    ),
    "tags": Engine(tags.build, TagIndex, tags.filters_of, tags_only=True),
    "bloom": Engine(bloom.build, BloomIndex, bloom.filters_of, tags_only=True),
}
ENGINES = tuple(name for name, engine in _ENGINES.items() if not engine.tags_only)  # for all filters
TAG_ENGINES = tuple(name for name, engine in _ENGINES.items() if engine.tags_only)


def engine(name: str) -> Engine:
    """Return an engine by its name."""
    return member_of(_ENGINES, name, "engine")
