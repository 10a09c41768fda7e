from typing import Any

from cbnet._kernels.message_encoding import Batch

def fill_from_columns(batch: Batch, rows: int, columns: list[tuple[Any, ...]], parents: Any, arrays: Any) -> None: ...
