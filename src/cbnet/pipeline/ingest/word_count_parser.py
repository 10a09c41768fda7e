"""Word counts of documents in the LDA-C format, with a vocabulary.

3 0:2 7:1 12:1     three different words: word 0 of the vocabulary twice, words 7 and 12 once
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cbnet.pipeline.ingest.fields import ParsedLines
from cbnet.pipeline.spark.list_columns import from_lengths, lengths_of

_LINE = r"^\s*[0-9]{1,9}(\s+[0-9]{1,9}:[0-9]{1,9})*\s*$"

NOT_COUNTS = "not a count and pairs of word:count"
WRONG_NUMBER = "number of words differs from the first field"
UNKNOWN_WORD = "word number outside the vocabulary"


def parse_word_counts(lines: pa.Array, schema: pa.Schema, vocabulary: pa.Array) -> ParsedLines:
    """Parse documents to words and counts; the caller sets the item, the number of the line."""
    is_line = np.asarray(pc.match_substring_regex(lines, _LINE))
    rejected = dict.fromkeys(np.flatnonzero(~is_line).tolist(), NOT_COUNTS)
    numbers = np.flatnonzero(is_line)
    parts = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(lines.filter(pa.array(is_line))))
    lengths, elements = lengths_of(parts), parts.flatten()
    heads = np.cumsum(lengths) - lengths
    declared = elements.take(pa.array(heads)).cast(pa.int64()).to_numpy()
    is_pair = np.ones(len(elements), dtype=bool)
    is_pair[heads] = False
    halves = pc.split_pattern(elements.filter(pa.array(is_pair)), ":").flatten().cast(pa.int32())
    words, counts = halves[::2], halves[1::2]

    lengths = lengths - 1
    unknown = np.zeros(len(lengths), dtype=bool)
    unknown[np.repeat(np.arange(len(lengths)), lengths)[words.to_numpy() >= len(vocabulary)]] = True
    rejected.update(dict.fromkeys(numbers[unknown].tolist(), UNKNOWN_WORD))
    rejected.update(dict.fromkeys(numbers[declared != lengths].tolist(), WRONG_NUMBER))

    right = ~unknown & (declared == lengths)
    kept = pa.array(np.repeat(right, lengths))
    columns = [
        pa.nulls(int(right.sum()), pa.string()),
        from_lengths(vocabulary.take(words.filter(kept)), lengths[right]),
        from_lengths(counts.filter(kept), lengths[right]),
    ]
    return ParsedLines(pa.RecordBatch.from_arrays(columns, schema=schema), numbers[right], rejected)
