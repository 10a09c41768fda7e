"""The law of `match`: the rows of a DataFrame match as dicts of the same values do, for every type and filter."""

import datetime
from decimal import Decimal

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.rich_language import rich_tables, strings

import cbnet
from cbnet import Table
from cbnet.errors import InputError

REFUSED = "refused"
DAY = datetime.date(2026, 1, 2)
NOON = datetime.datetime(2026, 1, 2, 12, 0, 0, 1)
VALUES = {
    "tinyint": st.sampled_from([-2, -1, 0, 1, 2, 7]),
    "int": st.sampled_from([-2, 0, 1, 3, 2**31 - 1]),
    "bigint": st.sampled_from([0, 1, 2, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]),
    "double": st.sampled_from([0.5, 1.0, 1.5, -0.0, 2.0**53, 2.0**63, 1e300, float("nan"), float("inf")]),
    "decimal(20,1)": st.sampled_from(
        [Decimal("0.5"), Decimal(1), Decimal(2**63 - 1), Decimal(f"{2**63}.0"), Decimal("-1.5")]
    ),
    "string": strings,
    "boolean": st.booleans(),
    "date": st.sampled_from([DAY, datetime.date(1, 1, 1), datetime.date(9999, 12, 31)]),
    "timestamp": st.just(NOON.replace(tzinfo=datetime.UTC)),
    "timestamp_ntz": st.sampled_from([NOON, NOON.replace(microsecond=0)]),
}


@st.composite
def scalar_columns(draw):
    """Draw a type of a column and the strategy of its values."""
    name = draw(st.sampled_from([*VALUES]))
    return name, st.none() | VALUES[name]


@st.composite
def columns(draw, fields=("x", "y")):
    """Draw a type and the strategy of its values: a scalar, an array, or nested members of these names."""
    form = draw(st.sampled_from(["scalar", "array", "struct", "structs", "map"]))
    type, values = draw(scalar_columns())
    if form == "scalar":
        return type, values
    if form == "array":
        return f"array<{type}>", st.none() | st.lists(values, max_size=3)
    if form == "map":
        keys = st.sampled_from(["x", "y", "p.x"])
        return f"map<string,{type}>", st.none() | st.dictionaries(keys, values, max_size=3)
    members = {name: draw(scalar_columns()) for name in fields}
    inner = draw(scalar_columns())
    types = [f"{name}:{member[0]}" for name, member in members.items()] + [f"p:struct<x:{inner[0]}>"]
    shape = {name: member[1] for name, member in members.items()} | {"p": st.fixed_dictionaries({"x": inner[1]})}
    struct, whole = f"struct<{','.join(types)}>", st.none() | st.fixed_dictionaries(shape)
    return (struct, whole) if form == "struct" else (f"array<{struct}>", st.none() | st.lists(whole, max_size=2))


@st.composite
def frames(draw):
    """Draw a schema, and rows of it."""
    drawn = {"x": draw(columns(fields=())), "y": draw(scalar_columns()), "o": draw(columns())}
    tags = st.none() | st.lists(st.sampled_from(["p", "q", None]), max_size=2)
    drawn["#"] = "array<string>", tags
    rows = draw(
        st.lists(st.fixed_dictionaries({name: values for name, (_, values) in drawn.items()}), min_size=5, max_size=20)
    )
    return {name: type for name, (type, _) in drawn.items()}, rows


def without_nulls(value):
    """Return a cell as a member of a dict: a null is no value."""
    if isinstance(value, dict):
        return {name: without_nulls(member) for name, member in value.items() if member is not None}
    return [without_nulls(item) for item in value if item is not None] if isinstance(value, list) else value


def answer(table, row):
    try:
        return sorted(table.match(without_nulls(row)))
    except InputError:
        return REFUSED


@settings(max_examples=20, phases=[Phase.generate], suppress_health_check=[*HealthCheck])
@given(frame=frames(), rules=rich_tables)
def test_rows_match_as_dicts_do(spark, frame, rules):
    schema, rows = frame
    table = Table.build(rules)
    data = [(number, *(row[name] for name in schema)) for number, row in enumerate(rows)]
    df = spark.createDataFrame(data, ", ".join(["id int", *(f"`{name}` {type}" for name, type in schema.items())]))
    found = {number: [] for number in range(len(rows))}
    for row in cbnet.spark.match(df, table, key="id", on_error="column").collect():
        found[row.id] = REFUSED if row["_error"] is not None else sorted([*found[row.id], row.rule])
    assert found == {number: answer(table, row) for number, row in enumerate(rows)}
