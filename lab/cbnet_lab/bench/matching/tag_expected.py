"""Expected matches of tagged messages, computed by the reference matcher on a sample.

The Arrow table of filters is decoded here, without code that the tables share (words, columns, encoded
messages). Only filters whose tags all occur in the message can match; numpy finds them, and all are tried.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cbnet.language.filter import Descriptor, Filter
from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.language.values import RESERVED_NAME
from cbnet.matching import reference
from cbnet_lab.bench.expected_matches import ExpectedMatches

if TYPE_CHECKING:
    from cbnet_lab.bench.bench_input import Report

_MAX_DESCRIPTORS = 100_000  # tried for the whole sample
_MAX_SAMPLE, _MIN_SAMPLE = 200, 2  # messages


def expected_tag_matches(filters: pa.Table, messages: Sequence[Mapping[str, Any]], report: Report) -> ExpectedMatches:
    """Match a random sample of messages with the reference."""
    descriptors = _Descriptors(filters)
    answers: dict[int, list[int]] = {}
    tried = 0
    for index in random.Random(0).sample(range(len(messages)), min(_MAX_SAMPLE, len(messages))):
        candidates = descriptors.within(messages[index][RESERVED_NAME])
        tried += len(candidates)
        if tried > _MAX_DESCRIPTORS and len(answers) >= _MIN_SAMPLE:
            break
        report(f"reference: matching message {len(answers) + 1} of a sample")
        message = Message.from_dict(dict(messages[index]))
        answers[index] = reference.match(descriptors.predicates(candidates), message)
    return ExpectedMatches(answers)


class _Descriptors:
    """The filters of a generated table of tags, sorted by interface and filter."""

    def __init__(self, filters: pa.Table) -> None:
        names = filters["name"].combine_chunks()
        self._texts = names.dictionary.to_pylist()
        self._codes = {tag: code for code, tag in enumerate(self._texts)}
        self._tags = names.indices.to_numpy()
        filter = filters["filter"].to_numpy()
        self._starts = np.flatnonzero(np.diff(filter, prepend=filter[0] - 1))
        self._ends = np.append(self._starts[1:], len(filter))
        self._interfaces = filters["interface"].to_numpy()[self._starts]

    def within(self, tags: Sequence[str]) -> NDArray[np.int64]:
        """Return the indexes of the filters whose tags are all in `tags`."""
        present = np.zeros(len(self._texts), bool)
        present[[self._codes[tag] for tag in tags if tag in self._codes]] = True
        return np.flatnonzero(np.logical_and.reduceat(present[self._tags], self._starts))

    def predicates(self, indexes: NDArray[np.int64]) -> dict[int, Predicate]:
        """Return the predicates of some filters, by interface."""
        filters: dict[int, list[Filter]] = {}
        for index in indexes.tolist():
            tags = self._tags[self._starts[index] : self._ends[index]].tolist()
            filters.setdefault(int(self._interfaces[index]), []).append(Descriptor(self._texts[tag] for tag in tags))
        return {interface: Predicate(group) for interface, group in filters.items()}
