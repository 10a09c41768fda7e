from typing import Any

from cbnet._kernels.message_encoding import Batch
from cbnet._kernels.symbol_table import Symbols

class Columns:
    def add(
        self, symbol: int, kind: str, valid: int, data: int, text: int, first: int, count: int, rows: int, elements: int
    ) -> None: ...
    def fill(self, batch: Batch, rows: int, parents: Any, arrays: Any) -> None: ...

def add_plain_columns(columns: Columns, schema: object, array: object, symbols: Symbols) -> list[int]: ...
