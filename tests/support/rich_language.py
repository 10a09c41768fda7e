"""Random formulas, filters with conditions and nested messages: the whole language, with few names and constants."""

from hypothesis import strategies as st
from support.strategies import near

from cbnet.language import Constraint, Filter, Message, Op, Predicate
from cbnet.language.condition import (
    AddressTest,
    Comparison,
    Condition,
    Like,
    Membership,
    Outcome,
    Presence,
    RegexTest,
    TagTest,
)
from cbnet.language.constraint import ORDERING, PATTERNS, value_set
from cbnet.language.expression import Arithmetic, Attribute, Call, Constant
from cbnet.language.formula import AllOf, AnyOf, Is, Not, literal, predicate_of
from cbnet.language.like_pattern import validate_pattern
from cbnet.language.relations.witness import _near
from cbnet.language.values import canonical

NAMES = ("x", "y", "o", "o.x", "o.y", "o.p.x")
TAGS = ("p", "q")
numbers = st.sampled_from([-2, -1, 0, 0.5, 1, 1.5, 2, 3, 7, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 2.0**63, 1e300])
strings = st.sampled_from(
    [
        "",
        "a",
        "A",
        "ab",
        "aB",
        "b",
        "ba",
        "a%",
        "é",
        "ß",
        "İ",
        "\U0010ffff",
        "07",
        "TRUE",
        "10.1.2.3",
        "::1",
        "2026-11-15",
        "2026-11-15T01:00:00.5+01:00",
        "9999-12-31T23:59Z",
        "2026-02-30",
    ]
)
scalars = st.none() | st.booleans() | numbers | strings
names = st.sampled_from(NAMES)
tags = st.frozensets(st.sampled_from(TAGS), max_size=2)
outcomes = st.sampled_from(
    [Outcome.TRUE, Outcome.FALSE, Outcome.FALSE | Outcome.UNKNOWN, Outcome.TRUE | Outcome.UNKNOWN]
)
value_sets = st.lists(scalars, min_size=1, max_size=4).map(lambda values: value_set(values, "x"))
patterns = st.text(st.sampled_from("ab%_"), max_size=5).map(validate_pattern)
REGEXES = (
    "a",
    "^a",
    "^a.*b$",
    "[aA]b?$",
    "a|ba",
    "(?i)ab",
    "^$",
    "[0-9]{2,}",
    "^(a|b)*$",
    "é|ß",
    "b[^a]?$",
    "\\.[0-9]+$",
)

_attributes = names.map(Attribute)
_number_constants = numbers.map(lambda value: Constant(canonical(value)))
_string_constants = strings.map(Constant)


def _arithmetic(children):
    pairs = st.tuples(children | _attributes, children | _attributes | _number_constants)
    ops = st.sampled_from(["+", "-", "*", "/", "div", "mod"])
    sides = st.tuples(pairs, st.booleans()).map(lambda drawn: drawn[0][::-1] if drawn[1] else drawn[0])
    return st.builds(lambda op, operands: Arithmetic(op, *operands), ops, sides)


_counts = st.builds(Call, st.sampled_from(["length", "abs", "int", "time"]), _attributes)
arithmetic = st.recursive(_attributes | _counts, _arithmetic, max_leaves=4)
blocks = st.sampled_from(["10.0.0.0/8", "10.1.0.0/17", "0.0.0.0/0", "2001:db8::/32"])
bools = st.builds(Call, st.just("bool"), _attributes)
texts = _attributes | st.builds(Call, st.sampled_from(["lower", "upper", "string"]), _attributes)


@st.composite
def comparisons(draw):
    """A comparison as the parser reads it: not of two constants, nor of a constant that the operator refuses."""
    op = draw(st.sampled_from([op for op in Op if op not in (Op.EXISTS, Op.IN)]))
    if op in PATTERNS:
        left, constants = draw(texts), _string_constants
    elif op in ORDERING:
        is_text = draw(st.booleans())
        left, constants = draw(texts if is_text else arithmetic), _string_constants if is_text else _number_constants
    else:
        left, constants = draw(arithmetic | texts | bools), scalars.map(lambda value: Constant(canonical(value)))
    operands = left, draw(constants | _attributes | (texts if op in PATTERNS else arithmetic))
    return Comparison(op, *(operands[::-1] if draw(st.booleans()) else operands))


tests = (
    comparisons()
    | st.builds(Like, texts, patterns)
    | st.builds(RegexTest, texts, st.sampled_from(REGEXES))
    | st.builds(Membership, arithmetic | texts, value_sets)
    | st.builds(AddressTest, texts, blocks)
    | st.builds(Presence, names)
    | st.builds(TagTest, st.sampled_from(TAGS))
)


def _joined(children):
    parts = st.lists(children, max_size=3).map(tuple)
    return (
        st.builds(AllOf, parts) | st.builds(AnyOf, parts) | st.builds(Not, children) | st.builds(Is, children, outcomes)
    )


formulas = st.recursive(tests, _joined, max_leaves=5)
rich_predicates = formulas.map(predicate_of)


def _filter(literals, tags):
    kinds = {Constraint: [], Condition: [], str: [*tags]}
    for part in literals:
        if not isinstance(part, bool):
            kinds[type(part)].append(part)
    return Filter(kinds[Constraint], kinds[str], kinds[Condition])


literals = st.builds(literal, tests, outcomes)
rich_filters = st.builds(_filter, st.lists(literals, max_size=4), tags)
simple_constraints = st.builds(literal, tests, st.just(Outcome.TRUE)).filter(lambda part: isinstance(part, Constraint))
unconditional_filters = st.builds(Filter, st.lists(simple_constraints, max_size=4), tags)
rich_tables = st.dictionaries(
    st.integers(0, 5), st.lists(rich_filters, max_size=3).map(Predicate) | rich_predicates, max_size=6
)


def members(values=scalars):
    """Random members of a message: scalars, arrays, objects, arrays of objects, and dotted keys."""
    scalar_lists = st.lists(values, max_size=3)
    inner = st.dictionaries(st.sampled_from(["x", "y", "p.x"]), values | scalar_lists, max_size=3)
    outer = st.dictionaries(
        st.sampled_from(["x", "y", "p", "p.x"]), values | scalar_lists | inner | st.lists(values | inner, max_size=2)
    )
    elements = st.lists(values | outer | st.lists(outer, max_size=2), max_size=3)
    whole = {
        "x": values | scalar_lists, "y": values | scalar_lists, "o": values | outer | elements,
        "o.x": values | scalar_lists, "o.p": inner | st.lists(inner, max_size=2), "o.p.x": values,
        "other": values | elements,
    }  # fmt: skip
    return st.fixed_dictionaries({}, optional=whole)


nested_messages = st.builds(Message, members(), tags)
flat_messages = st.builds(Message, st.dictionaries(names, scalars), tags)


def rich_messages_near(*filters):
    """Return a strategy for messages whose values lie near the constants of the filters."""
    constants = [member for filter in filters for each in filter.constraints for member in each.members]
    pool = [value for constant in constants for value in (constant, *(near(constant) if constant is not None else ()))]
    pool += [value for filter in filters for condition in filter.conditions for value in _near(condition.test)]
    return st.builds(Message, members(st.sampled_from(pool) | scalars if pool else scalars), tags)
