from typing import Any

from numpy.typing import NDArray

def sort_rows(words: NDArray[Any], offsets: NDArray[Any]) -> int: ...
