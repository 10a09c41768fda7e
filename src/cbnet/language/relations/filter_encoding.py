"""FilterRows: which filters of a disjunction are redundant? Filters as rows of words, for the kernel.

A word is a symbol, the number of an attribute's name or of a tag, and a shape: what is asked of it.
Names and tags have different symbols; a tag has the shape of `exists`.

    x > 5 and y = 1 and #a        │ x:> 5   y:= 1   #a:exists │        one row

The words that a row asks for are set against those that another row has. By the full rules a row
has one for each attribute, with the shape of all constraints on it together; by the pairwise rules
it has those that it asks for.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

from cbnet._kernels import reduce_ranges as contained
from cbnet.language.relations.constraint_group import Rules, reduced_group
from cbnet.language.relations.range_encoding import Shapes


def word(symbol: int, shape: int) -> int:
    """Return the word of a symbol and a shape."""
    return symbol << 32 | shape


def symbol_of(word: int) -> int:
    """Return the symbol of a word."""
    return word >> 32


class FilterRows:
    """The filters of a disjunction, each reduced by itself.

        words   │ x:> 5  y:= 1 │ x:> 3  x:< 9 │ … │ x:> 3 and < 9      uint64, sorted by symbol in each filter
        offsets 0              2              4 …                      int64[filters + 1]

    A filter with several constraints on one attribute gets new words, behind all others.
    """

    def __init__(self, words: Any, offsets: Any, shapes: Shapes, rules: Rules) -> None:
        self._words, starts = array("Q"), array("q")
        self._words.frombytes(words.tobytes())
        starts.frombytes(offsets.tobytes())
        self._shapes, self._rules = shapes, rules
        self._possible = bytearray(b"\1") * (len(starts) - 1)  # 0: the rules see that no message matches
        self._loose = bytearray(len(self._possible))
        self._asked = array("q", chain.from_iterable(pairwise(starts)))
        self._filed = self._asked[:]
        empty = bytes(attribute.is_empty for attribute in shapes.ranges)
        for row in contained.uncommon_rows(self._words, starts, empty):
            self._reduce(row)
        self.sizes = [end - start for start, end in zip(self._asked[::2], self._asked[1::2], strict=True)]

    def words(self, row: int) -> array[int]:
        """Return the words that are left of a filter; there are as many as its size says."""
        return self._words[self._asked[2 * row] : self._asked[2 * row + 1]]

    def needed(self) -> bytearray:
        """Return a 1 for each filter that is needed, and a 0 for the others.

        Of filters that cover each other a smallest is needed, and of these the first.
        """
        return next(self.needed_of_first([len(self.sizes)]))

    def needed_of_first(self, counts: Iterable[int]) -> Iterator[bytearray]:
        """Yield which of the first `count` filters are needed, for rising counts.

        What a few do not need, more do not need either: each step begins with what the last one left.
        """
        packed = self._shapes.packed()
        had = self._filed if self._rules == "full" else self._asked
        rows = (self._words, self._asked, had, self._filed, self._loose)
        alive = bytearray()
        for count in counts:
            alive += self._possible[len(alive) : count]
            order = array("q", sorted((row for row in range(count) if alive[row]), key=self.sizes.__getitem__))
            contained.drop_contained(packed, *rows, order, alive, self._shapes.contains)
            yield alive[:]

    def _reduce(self, row: int) -> None:
        """Leave what is needed of a filter."""
        by_symbol: dict[int, list[int]] = defaultdict(list)
        for said in self.words(row):
            by_symbol[symbol_of(said)].append(said & 0xFFFFFFFF)
        groups = {symbol: reduced_group(self._shapes, group, self._rules) for symbol, group in by_symbol.items()}
        asked = [word(symbol, shape) for symbol, group in groups.items() for shape in group.needed]
        filed = [word(symbol, group.whole) for symbol, group in groups.items() if group.whole is not None]
        if len(filed) < len(groups):  # no message matches the filter, but only the full rules see it
            self._possible[row], self._loose[row] = self._rules == "pairwise", 1
            filed = asked
        self._asked[2 * row : 2 * row + 2] = self._added(asked)
        self._filed[2 * row : 2 * row + 2] = self._added(filed)

    def _added(self, words: Sequence[int]) -> array[int]:
        """Add words behind all others; return where they begin and end."""
        start = len(self._words)
        self._words.extend(words)
        return array("q", (start, len(self._words)))
