from collections.abc import Sequence
from typing import Any

from cbnet._kernels.message_encoding import Batch
from cbnet._kernels.symbol_table import Symbols

class DictEncoder:
    batch: Batch
    def __init__(self, symbols: Symbols) -> None: ...
    def add(self, message: dict[str, Any] | tuple[dict[str, Any], Any]) -> bool: ...
    def add_many(self, messages: Sequence[object], first: int) -> int: ...
