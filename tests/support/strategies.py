"""Random values, messages and predicates, and messages drawn near the constants of a predicate."""

from hypothesis import strategies as st

from cbnet.language import Constraint, Filter, Message, Op, Predicate
from cbnet.language.constraint import takes
from cbnet.language.relations.number_range import predecessor, successor
from cbnet.language.values import INT_MAX, INT_MIN, ValueType, value_type

any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
any_numbers = st.integers(INT_MIN, INT_MAX) | st.floats(allow_nan=False, allow_infinity=False)
any_values = st.booleans() | any_numbers | any_text
any_names = any_text.filter(lambda name: name != "#")

# Few names and constants, close to each other, so that constraints often meet.
_NUMBERS = [-1, 0, 0.5, 1, 1.5, 2, 2**53, 2**53 + 1, 2**53 + 2.0, 5e-324, INT_MIN, INT_MAX, 2.0**63]
_STRINGS = ["", "a", "b", "ab", "ba", "aba", "abab", "bb", "a\0", "é", "\uffff", "\U0010ffff"]
close_values = st.booleans() | st.sampled_from(_NUMBERS) | st.sampled_from(_STRINGS)
close_names = st.sampled_from("xyz")
close_tags = st.frozensets(st.sampled_from("pq"), max_size=2)


@st.composite
def constraints(draw, names=close_names, values=close_values):
    value = draw(values)
    op = draw(
        st.sampled_from([op for op in Op if op is Op.EXISTS or (op is not Op.IN and takes(op, value_type(value)))])
    )
    return Constraint(draw(names), op, None if op is Op.EXISTS else value)


def filters(names=close_names, values=close_values, tags=close_tags, max_size=4):
    return st.builds(Filter, st.lists(constraints(names, values), max_size=max_size), tags)


def predicates(names=close_names, values=close_values, tags=close_tags):
    return st.builds(Predicate, st.lists(filters(names, values, tags), max_size=4))


any_predicates = predicates(any_names, any_values, st.frozensets(any_text, max_size=3))
any_messages = st.builds(
    Message, st.dictionaries(any_names, any_values, max_size=5), st.frozensets(any_text, max_size=3)
)


def near(value):
    """Return values at and around a constant, where a wrong operator would show."""
    if value_type(value) is ValueType.BOOL:
        return [True, False]
    if value_type(value) is ValueType.NUMBER:
        return [n for n in (predecessor(value), value, successor(value), -value) if n is not None and _fits(n)]
    return [
        value,
        value + "\0",
        value + "a",
        "a" + value,
        value[:-1],
        value[1:],
        value + value,
        value + "\U0010ffff",
    ]


def _fits(number):
    return isinstance(number, float) or INT_MIN <= number <= INT_MAX


def messages_near(*filters):
    """Return a strategy for messages whose values lie near the constants of the filters."""
    pools = {}
    for filter in filters:
        for constraint in filter.constraints:
            pool = pools.setdefault(constraint.name, [None, True, 7, "zz"])
            if constraint.value is not None:
                pool.extend(near(constraint.value))
    attributes = st.fixed_dictionaries({name: st.sampled_from(pool) for name, pool in pools.items()})
    tags = sorted(frozenset().union(*(filter.tags for filter in filters)))
    present = attributes.map(lambda chosen: {name: value for name, value in chosen.items() if value is not None})
    return st.builds(Message, present, st.sets(st.sampled_from(tags)) if tags else st.just(()))
