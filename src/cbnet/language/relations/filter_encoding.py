"""Filters as rows of words, for the kernel that finds redundant filters of a disjunction.

A word is a symbol, the number of an attribute's name or of a tag, and a shape, the number of its range.
Names and tags have different symbols; a tag has the shape of `exists`.

    x > 5 and y = 1 and #a        │ x:> 5   y:= 1   #a:exists │        one row

A row contains another if each word that it requires is satisfied by a word of the other. By the full
rules a row offers one word per attribute, with the shape of all constraints on it together; by the
pairwise rules it offers the words that it requires.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

from cbnet._kernels import reduce_ranges
from cbnet.language.relations.constraint_group import Rules, reduce_group
from cbnet.language.relations.range_encoding import Shapes


def word(symbol: int, shape: int) -> int:
    """Return the word of a symbol and a shape."""
    return symbol << 32 | shape


def symbol_of(word: int) -> int:
    """Return the symbol of a word."""
    return word >> 32


class FilterRows:
    """The filters of a disjunction, each reduced on its own.

        words   │ x:> 5  y:= 1 │ x:> 3  x:< 9 │ … │ x:> 3 and < 9      uint64, sorted by symbol in each filter
        offsets 0              2              4 …                      int64[filters + 1]

    A filter with several constraints on one attribute gets new words, appended at the end.
    """

    def __init__(self, words: Any, offsets: Any, shapes: Shapes, rules: Rules) -> None:
        self._words, starts = array("Q"), array("q")
        self._words.frombytes(words.tobytes())
        starts.frombytes(offsets.tobytes())
        self._shapes, self._rules = shapes, rules
        self._possible = bytearray(b"\1") * (len(starts) - 1)  # 0: provably no message matches, by these rules
        self._loose = bytearray(len(self._possible))
        self._required = array("q", chain.from_iterable(pairwise(starts)))
        self._filed = self._required[:]
        empty = bytes(attribute.is_empty for attribute in shapes.ranges)
        for row in reduce_ranges.uncommon_rows(self._words, starts, empty):
            self._reduce(row)
        self.sizes = [end - start for start, end in zip(self._required[::2], self._required[1::2], strict=True)]

    def words(self, row: int) -> array[int]:
        """Return the remaining words of a filter, `sizes[row]` of them."""
        return self._words[self._required[2 * row] : self._required[2 * row + 1]]

    def needed(self) -> bytearray:
        """Return 1 for each needed filter, and 0 for the others.

        Of filters that cover each other, the first of the smallest is needed.
        """
        return next(self.needed_of_first([len(self.sizes)]))

    def needed_of_first(self, counts: Iterable[int]) -> Iterator[bytearray]:
        """Yield the needed ones among the first `count` filters, for ascending counts.

        A filter redundant among few is redundant among more: each step starts from the result of the last.
        """
        packed = self._shapes.packed()
        offered = self._filed if self._rules == "full" else self._required
        rows = (self._words, self._required, offered, self._filed, self._loose)
        alive = bytearray()
        for count in counts:
            alive += self._possible[len(alive) : count]
            order = array("q", sorted((row for row in range(count) if alive[row]), key=self.sizes.__getitem__))
            reduce_ranges.drop_contained(packed, *rows, order, alive, self._shapes.contains)
            yield alive[:]

    def _reduce(self, row: int) -> None:
        """Drop the redundant constraints of a filter."""
        by_symbol: dict[int, list[int]] = defaultdict(list)
        for each in self.words(row):
            by_symbol[symbol_of(each)].append(each & 0xFFFFFFFF)
        groups = {symbol: reduce_group(self._shapes, group, self._rules) for symbol, group in by_symbol.items()}
        required = [word(symbol, shape) for symbol, group in groups.items() for shape in group.needed]
        filed = [word(symbol, group.whole) for symbol, group in groups.items() if group.whole is not None]
        if len(filed) < len(groups):  # no message matches the filter, but only the full rules detect it
            self._possible[row], self._loose[row] = self._rules == "pairwise", 1
            filed = required
        self._required[2 * row : 2 * row + 2] = self._append(required)
        self._filed[2 * row : 2 * row + 2] = self._append(filed)

    def _append(self, words: Sequence[int]) -> array[int]:
        """Append words; return their start and end."""
        start = len(self._words)
        self._words.extend(words)
        return array("q", (start, len(self._words)))
