"""Tag expected: which interfaces are right for a sample of tagged messages?

Said by `matching.reference`, from the Arrow table of filters; of what the tables share (words, columns,
encoded messages) nothing is used. To try all filters of a large table is too slow: only those all of
whose tags the message has can match, and numpy finds these; all of them are tried.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cbnet.lab.bench.expected import Expected
from cbnet.language.filter import Descriptor, Filter
from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.language.values import RESERVED_NAME
from cbnet.matching import reference

if TYPE_CHECKING:
    from cbnet.lab.bench.inputs import Report

_TRIED = 100_000  # descriptors, for all messages of the sample
_MOST, _LEAST = 200, 2  # messages


def expected(filters: pa.Table, members: Sequence[Mapping[str, Any]], report: Report) -> Expected:
    """Ask the reference about a random sample of messages."""
    descriptors = _Descriptors(filters)
    answers: dict[int, list[int]] = {}
    tried = 0
    for place in random.Random(0).sample(range(len(members)), min(_MOST, len(members))):
        candidates = descriptors.within(members[place][RESERVED_NAME])
        tried += len(candidates)
        if tried > _TRIED and len(answers) >= _LEAST:
            break
        report(f"reference: matching message {len(answers) + 1} of a sample")
        message = Message.from_dict(dict(members[place]))
        answers[place] = reference.match(descriptors.predicates(candidates), message)
    return Expected(answers)


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
        """Return the places of the filters all of whose tags are given."""
        present = np.zeros(len(self._texts), bool)
        present[[self._codes[tag] for tag in tags if tag in self._codes]] = True
        return np.flatnonzero(np.logical_and.reduceat(present[self._tags], self._starts))

    def predicates(self, places: NDArray[np.int64]) -> dict[int, Predicate]:
        """Return the predicates that some filters make up, by interface."""
        filters: dict[int, list[Filter]] = {}
        for place in places.tolist():
            tags = self._tags[self._starts[place] : self._ends[place]].tolist()
            filters.setdefault(int(self._interfaces[place]), []).append(Descriptor(self._texts[tag] for tag in tags))
        return {interface: Predicate(said) for interface, said in filters.items()}
