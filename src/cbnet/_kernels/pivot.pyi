from typing import Any

from cbnet._kernels.encoding import Batch, Symbols

class Index:
    symbols: Symbols
    targets: int
    def __init__(self, symbols: Symbols, arrays: dict[str, Any], targets: int) -> None: ...
    def match_members(self, members: dict[str, Any], out: Any) -> int: ...
    def match_batch(self, batch: Batch, first: int, end: int, removed: Any) -> tuple[Any, Any, int]: ...
