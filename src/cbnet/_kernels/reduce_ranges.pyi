from collections.abc import Callable
from typing import Any

from cbnet._kernels.packed_shapes import PackedShapes

def drop_contained(
    shapes: PackedShapes,
    words: Any,
    asked: Any,
    had: Any,
    filed: Any,
    is_loose: Any,
    order: Any,
    alive: Any,
    decide: Callable[[int, int], bool],
) -> None: ...
def uncommon_rows(words: Any, offsets: Any, uncommon: Any) -> list[int]: ...
