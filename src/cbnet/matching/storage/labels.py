"""Labels: the interfaces of a table, strings and 64-bit ints, as arrays.

label_ints     int64[…]   the ints, in their order
label_data,    the strings, in their order
label_offsets
label_is_text  uint8[n]   whether each label is a string; empty if all labels are of one type
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from cbnet.matching.storage.columns import Texts, texts

if TYPE_CHECKING:
    from cbnet.matching.storage.columns import Array


def labels_to_arrays(labels: Sequence[str | int]) -> dict[str, Array]:
    """Return labels as arrays."""
    strings = [label for label in labels if isinstance(label, str)]
    ints = np.array([label for label in labels if not isinstance(label, str)], np.int64)
    is_mixed = len(strings) > 0 and len(ints) > 0
    is_text = np.array([isinstance(label, str) for label in labels] if is_mixed else [], np.uint8)
    packed = texts(strings)
    return {
        "label_ints": ints,
        "label_data": packed.data,
        "label_offsets": packed.offsets,
        "label_is_text": is_text,
    }


def labels_from_arrays(arrays: dict[str, Array]) -> list[str | int]:
    """Return the labels stored in arrays."""
    strings = Texts(arrays["label_data"], arrays["label_offsets"])
    ints = arrays["label_ints"].tolist()
    named = [strings[index] for index in range(len(strings))]
    if not len(arrays["label_is_text"]):
        return [*named, *ints]
    next_string, next_int = iter(named), iter(ints)
    return [next(next_string) if is_text else next(next_int) for is_text in arrays["label_is_text"]]
