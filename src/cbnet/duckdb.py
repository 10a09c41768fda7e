"""Matching in DuckDB: functions of SQL.

    register(connection, "rules_of", "rules.cbt")

    SELECT id, rules_of(o) FROM orders o                                    -- the rules of each row, a list
    SELECT id FROM orders o WHERE list_contains(rules_of({'price': price}), 'cheap')

A message is a struct, whose fields are attributes; the name of a table stands for its rows. JSON columns are texts.
"""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from duckdb.func import ARROW, SPECIAL

from cbnet.errors import InputError
from cbnet.matching.frames import AnyTable, opened

__all__ = ["register"]


def register(connection: duckdb.DuckDBPyConnection, name: str, table: AnyTable) -> None:
    """Register the function `name`, which returns the rules that a message matches, in the order of `Table.match`.

    It replaces the function of an earlier call. A null has no rules; a message that is not valid fails the query.
    """
    table = opened(table)
    result = duckdb.list_type("BIGINT" if table.has_int_names else "VARCHAR")

    def rules(*arguments: Any) -> Any:
        if len(arguments) != 1 or not pa.types.is_struct(arguments[0].type):
            raise InputError("a message is one struct", hint=f"write {name}(t) for the rows of a table t")
        [messages] = arguments
        found = table.match_frame(pa.Table.from_struct_array(messages))
        return pc.if_else(messages.is_valid(), found, None)

    if connection.execute("SELECT count(*) FROM duckdb_functions() WHERE function_name = ?", [name]).fetchall() != [
        (0,)
    ]:
        connection.remove_function(name)
    connection.create_function(name, rules, None, result, type=ARROW, null_handling=SPECIAL)
