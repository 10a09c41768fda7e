"""Schemas: which columns pass from stage to stage?

    files ─► tagged, posts, counts, pairs, follows ─► descriptors ─► tags, sets ─► population ─► fib ─► table1
         └─► rejected

An `item` is what a user bookmarked, wrote, uploaded or linked to. Tags are strings up to `descriptors`, and
numbers, of which 0 is the most frequent, from `sets` on.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructType,
)

_TYPES: dict[str, DataType] = {
    "string": StringType(), "int": IntegerType(), "long": LongType(),
    "double": DoubleType(), "bytes": BinaryType(),
    "strings": ArrayType(StringType()), "ints": ArrayType(IntegerType()), "longs": ArrayType(LongType()),
}  # fmt: skip


def _of(**columns: str) -> StructType:
    schema = StructType()
    for name, type in columns.items():
        schema = schema.add(name, _TYPES[type])
    return schema


TAGGED = _of(user="string", item="string", tags="strings")
POSTS = _of(user="string", item="string", text="string")
COUNTS = _of(item="string", words="strings", counts="ints")  # how often each word occurs in an item
DOCUMENTS = _of(user="string", item="string", words="strings", counts="ints")  # words: clean, distinct, sorted
PAIRS = _of(user="string", item="string")  # who wrote, or keeps, an item of COUNTS
FOLLOWS = _of(follower="string", author="string")
REJECTED = _of(file="string", row="long", reason="string", text="string")  # rows are counted from 1

DESCRIPTORS = _of(app="string", role="string", user="string", tags="strings")  # tags: clean, distinct, sorted
APPS = ("web", "blog", "video", "social")
ROLES = ("subscription", "offer")

TAGS = _of(tag="string", id="int", sets="long")  # ids by falling number of sets, ties by tag
SETS = _of(app="string", role="string", tags="ints")  # ids rising
MODELS = _of(app="string", mutation="double", first_new="long", stride="long", offsets="longs", tags="ints")
POPULATION = _of(node="int", app="string", role="string", tags="ints")
LOADS = _of(node="int", role="string", descriptors="long", tags="long")  # what each node says, not aggregated
PREDICATES = _of(node="int", tags="ints")  # the minimal descriptors of each node
FIB = _of(tree="int", router="int", interface="int", tags="ints")  # minimal descriptors; tree null: on all trees
TABLE1 = _of(
    router="int", tree="int", interface="int", interfaces="long", destinations="long",
    tags="long", descriptors="long", kept="long", bytes="long",
)  # [2014 Table 1]; interface null: all of them together  # fmt: skip

# Inside `minimal_descriptors`: a group is an interface or a node; `trees` and `covered` have a bit for each tree.
GROUPED = _of(group="int", tags="ints", trees="long")
ANSWERS = _of(group="int", tags="ints", trees="long", covered="long")

# Inside `tree_counts`: places are those of the preorder of a tree.
TOPS = _of(tags="ints", positions="ints", tops="ints", first="int", last="int")
MARKS = _of(position="int", below="long", above="long")

OUTCOMES = _of(task="long", outcome="bytes")  # inside `tasks`


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the schema of the Arrow batches that carry these columns in and out of Python."""
    return to_arrow_schema(schema)
