"""Random nested messages with several values and nulls, and filters with sets and conditions over them."""

from hypothesis import strategies as st

from cbnet.language import Constraint, Filter, Op, Predicate, parse
from cbnet.language.constraint import takes
from cbnet.language.values import value_type

_VALUES = [None, True, False, -1, 0, 0.5, 1, 2, 2**53 + 1, "", "a", "b", "ab", "aB", "ba"]
_KEYS = ["a", "b", "x", "y", "l", "x.a", "l.a", "l.l"]
NAMES = ["a", "b", "x.a", "x.b", "x.y", "x.y.a", "l", "l.a", "l.b", "l.l", "l.l.a", "x.l.a", "x.l.b"]

scalars = st.sampled_from(_VALUES)
names = st.sampled_from(NAMES)
members = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=3),
    max_leaves=12,
)
_elements = st.lists(st.dictionaries(st.sampled_from(["a", "b", "l"]), members, max_size=3), max_size=3)
nested_messages = st.builds(
    lambda top, elements, tags: {**top, **elements, "#": sorted(tags)},
    st.dictionaries(st.sampled_from(_KEYS), members, max_size=4),
    st.dictionaries(st.sampled_from(["l", "x"]), _elements, max_size=2),
    st.frozensets(st.sampled_from("pq")),
)


@st.composite
def constraints(draw):
    value = draw(scalars)
    if draw(st.integers(0, 3)) == 0:
        return Constraint(draw(names), Op.IN, draw(st.lists(scalars, min_size=1, max_size=4)))
    op = draw(
        st.sampled_from([op for op in Op if op is Op.EXISTS or (op is not Op.IN and takes(op, value_type(value)))])
    )
    return Constraint(draw(names), op, None) if op is Op.EXISTS else Constraint(draw(names), op, value)


_TESTS = [
    "{0} = {1}", "{0} != {1}", "{0} < {1}", "{0} <= {1}", "{0} ^= {1}", "{0} *= {1}", "{0} + {1} > 1", "{0} * 2 = {1}",
    "{0} - 1 < 0", 'lower({0}) = "ab"', '{0} like "a%b"', '{0} in (1, "a", null)', '{0} ^= "a"', "{0} = null",
]  # fmt: skip
_OUTCOMES = ["({})", "not ({})", "({}) is not true", "({}) is not false"]


@st.composite
def condition_texts(draw):
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return draw(st.sampled_from(["absent {}", "exists {}"])).format(draw(names))
    if kind == 1:
        return draw(st.sampled_from(["not #p", "not #q"]))
    return draw(st.sampled_from(_OUTCOMES)).format(draw(st.sampled_from(_TESTS)).format(draw(names), draw(names)))


@st.composite
def filters(draw, has_conditions=True):
    text = " and ".join(draw(st.lists(condition_texts(), max_size=2))) if has_conditions else ""
    plain = Filter(draw(st.lists(constraints(), max_size=3)), draw(st.frozensets(st.sampled_from("pq"), max_size=1)))
    return [plain & other for other in parse(text).filters] if text else [plain]


def nested_predicates(has_conditions=True):
    return st.lists(filters(has_conditions), max_size=3).map(
        lambda parts: Predicate([f for part in parts for f in part])
    )
