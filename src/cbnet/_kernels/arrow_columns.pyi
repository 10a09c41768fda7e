from cbnet._kernels.column_encoding import Columns
from cbnet._kernels.symbol_table import Symbols

def add_plain_columns(columns: Columns, schema: object, array: object, symbols: Symbols) -> list[int]: ...
