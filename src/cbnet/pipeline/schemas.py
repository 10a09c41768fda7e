"""Schemas of the rows between stages.

    files ─► tagged, posts, counts, pairs, follows ─► descriptors ─► tags, sets ─► population ─► fib ─► table1
         └─► rejected

An `item` is a bookmark, a text, a video or a link. Tags are strings up to `descriptors` and, from `sets` on, numbers,
of which 0 is the most frequent.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructType,
)

_TYPES: dict[str, DataType] = {
    "string": StringType(), "int": IntegerType(), "long": LongType(),
    "double": DoubleType(), "bytes": BinaryType(), "bool": BooleanType(),
    "strings": ArrayType(StringType()), "ints": ArrayType(IntegerType()), "longs": ArrayType(LongType()),
    "doubles": ArrayType(DoubleType()),
}  # fmt: skip


def struct_type(**columns: str) -> StructType:
    """Return the schema of columns, by the names of their types."""
    schema = StructType()
    for name, type in columns.items():
        schema = schema.add(name, _TYPES[type])
    return schema


TAGGED = struct_type(user="string", item="string", tags="strings")
CLEAN = struct_type(
    user="string", item="string", tags="strings", raw_tags="int"
)  # raw_tags: their number before cleaning
POSTS = struct_type(user="string", item="string", text="string")
COUNTS = struct_type(item="string", words="strings", counts="ints")  # of each word in an item
DOCUMENTS = struct_type(user="string", item="string", words="strings", counts="ints")  # words: clean, distinct, sorted
PAIRS = struct_type(user="string", item="string")  # authors or owners of items of COUNTS
FOLLOWS = struct_type(follower="string", author="string")
REJECTED = struct_type(file="string", row="long", reason="string", text="string")  # rows are counted from 1

DESCRIPTORS = struct_type(app="string", role="string", user="string", tags="strings")  # tags: clean, distinct, sorted
APPS = ("web", "blog", "video", "social")
ROLES = ("subscription", "offer")

TAGS = struct_type(tag="string", id="int", sets="long")  # ids by falling number of sets, ties by tag
SETS = struct_type(app="string", role="string", user="string", tags="ints")  # ids ascending
MODELS = struct_type(
    app="string", law="doubles", deviation="double", one_tag="doubles", sizes="doubles", limit="long",
    known="ints", first_new="long", stride="long", topic_offsets="longs", topic_tags="ints",
)  # see `user_model`  # fmt: skip
# announced: minimal among the descriptors of the same user
POPULATION = struct_type(node="int", app="string", role="string", tags="ints", announced="bool")
LOADS = struct_type(node="int", role="string", descriptors="long", announced="long", tags="long")
PREDICATES = struct_type(node="int", tags="ints")  # the minimal descriptors of each node
FIB = struct_type(
    tree="int", router="int", interface="int", tags="ints"
)  # minimal descriptors; tree null: on all trees
TABLE1 = struct_type(
    router="int", tree="int", interface="int", interfaces="long", destinations="long",
    tags="long", descriptors="long", announced="long", kept="long", bytes="long",
)  # [2014 Table 1]; interface null: all interfaces  # fmt: skip

# The tables of every router: see `router_tables`
NUMBERED = struct_type(descriptor="long", tags="ints", minimal="bool")  # minimal: among all descriptors
ROUTER_TABLES = struct_type(tree="int", range="int", position="int", descriptor="long", below="int", above="int")

COMPILED = struct_type(
    router="int", part="int", bytes="bytes"
)  # chunks of table files, in order; inside `compiled_tables`

# Inside `minimal_descriptors`: a group is an interface or a node; `trees` and `covered` have a bit for each tree.
GROUPED = struct_type(group="int", tags="ints", trees="long")
ANSWERS = struct_type(group="int", tags="ints", trees="long", covered="long")

# Inside `tree_counts`: positions in the preorder of a tree.
TOPS = struct_type(tags="ints", positions="ints", tops="ints", first="int", last="int")
MARKS = struct_type(position="int", below="long", above="long")

# Inside `router_tables`.
SET_MARKS = struct_type(tags="ints", position="ints", below="ints", above="ints")
BRANCH_MARKS = struct_type(group="int", descriptor="long", tree="int", mark="int")
ENTRIES = struct_type(tree="int", entries="long")

OUTCOMES = struct_type(task="long", outcome="bytes")  # inside `parallelism`


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the Arrow schema of batches of these columns."""
    return to_arrow_schema(schema)


def record_batch(schema: StructType, *columns: Any) -> pa.RecordBatch:
    """Return a batch of these columns: Arrow arrays as they are, others converted to the types of the schema."""
    types = arrow_schema(schema)
    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column, field.type)
        for column, field in zip(columns, types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=types)
