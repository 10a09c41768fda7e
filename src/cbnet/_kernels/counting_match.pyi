from typing import Any

from cbnet._kernels.message_encoding import Batch
from cbnet._kernels.symbol_table import Symbols

class CountingIndex:
    symbols: Symbols
    targets: int
    def __init__(self, symbols: Symbols, arrays: dict[str, Any], targets: int) -> None: ...
    def match_members(self, members: dict[str, Any], out: Any, rounds: int = 10, short_circuit: bool = True) -> int: ...
    def match_batch(
        self, batch: Batch, first: int, end: int, rounds: int = 10, short_circuit: bool = True
    ) -> tuple[Any, Any, dict[str, int]]: ...
    def excluded_by_round(self, batch: Batch, first: int, end: int, rounds: int) -> Any: ...
