"""CloudEvents SQL, translated to formulas [CESQL 1.0].

A name is an attribute of the event. Only the event tells its type, so values are cast as operators need them:

    priority > 2                int(priority) > 2
    kind = 'retry'              kind = "retry"
    attempt = '3'               attempt in (3, "3")
    paid AND NOT deleted        bool(paid) = true and bool(deleted) != true

Refused: functions that build strings, unless their arguments are constants or they are compared with constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import islice

from cbnet.language.condition import Comparison, Like, Membership, Outcome, Presence, RegexTest, operands_of, outcome
from cbnet.language.constraint import ORDERING, Op, value_set
from cbnet.language.dialects.cesql_operands import (
    EVENT_FUNCTIONS,
    OperandTranslator,
    Variant,
    cast,
    constant,
    has_value,
    is_space,
)
from cbnet.language.dialects.cesql_reader import CONDITIONS, NEGATED, CesqlReader
from cbnet.language.dialects.cesql_strings import (
    JOINS,
    PARTS,
    part_pattern,
    splits,
    trimmed_regex,
)
from cbnet.language.dialects.cesql_truth import (
    Truth,
    all_of,
    any_of,
    conjunction,
    decided,
    disjunction,
    exclusive,
    known,
)
from cbnet.language.dialects.event_attributes import exists, has_text, text_is_like
from cbnet.language.dialects.sql_reader import Node
from cbnet.language.expression import Attribute, Constant
from cbnet.language.formula import FALSE, TRUE, Formula, Not
from cbnet.language.like_pattern import MAX_PATTERN, escape_pattern, validate_pattern
from cbnet.language.regex import validate_regex
from cbnet.language.syntax.lexer import Token
from cbnet.language.values import ValueType

_TYPES = (ValueType.STRING, ValueType.NUMBER, ValueType.BOOL)
_COMPARISONS = {"=": Op.EQ, "!=": Op.EQ, "<>": Op.EQ, "<": Op.LT, "<=": Op.LE, ">": Op.GT, ">=": Op.GE}
_MAX_ELEMENTS = 100
_YES, _NO, _ERROR = decided(TRUE, FALSE, TRUE), decided(FALSE, TRUE, TRUE), decided(FALSE, FALSE)


def formula(source: str) -> Formula:
    """Return the formula of the events for which an expression is true."""
    reader = CesqlReader(source)
    tree = reader.tree()
    translator = _Translator(reader)
    if tree.op == "name":  # not cast: the result of an expression must be a bool
        return Comparison(Op.EQ, Attribute(str(tree.value)), Constant(True))
    if tree.op in CONDITIONS or isinstance(tree.value, bool):
        return translator.truth(tree).true
    translator.variants(tree)  # for its errors
    return FALSE


class _Translator(OperandTranslator):
    def truth(self, node: Node) -> Truth:
        """Return the condition of a node, cast to a bool."""
        if node.op in ("AND", "OR"):
            parts = [self.truth(operand) for operand in node.operands]
            return conjunction(parts) if node.op == "AND" else disjunction(parts)
        if node.op == "XOR":
            return reduce(exclusive, map(self.truth, node.operands))
        if node.op == "NOT":
            return ~self.truth(node.operands[0])
        if node.op == "EXISTS":
            test = exists(str(node.operands[0].value))
            return decided(test, Not(test), TRUE) if isinstance(test, Presence) else _YES
        if node.op == "BOOL()":
            if len(node.operands) != 1:
                raise self._reader.error_at(node.token, "`BOOL` takes one argument", "write BOOL(x)")
            return self.truth(node.operands[0])
        if node.op not in CONDITIONS:
            return _either([(each.guard, self._as_bool(each, node.token)) for each in self.variants(node)])
        truth = self._tests(node)
        return ~truth if node.op in NEGATED else truth

    def _tests(self, node: Node) -> Truth:
        """Return the condition of a comparison, LIKE or IN, for every variant of its operands."""
        built = self._built(node)
        if built is not None:
            return built
        left, *others = map(self.variants, node.operands)
        if node.op.endswith("LIKE"):
            pattern = self._pattern(node.operands[1])
            return _either([(each.guard, self._like(each, pattern, node.token)) for each in left])
        if node.op.endswith("IN"):
            return _either([(each.guard, self._member(each, others, node.token)) for each in left])
        op = _COMPARISONS[node.op]
        pairs = self._combinations([left, *others], node.token)
        return _either([(all_of((a.guard, b.guard)), self._compared(op, a, b, node.token)) for a, b in pairs])

    def _built(self, node: Node) -> Truth | None:
        """Return a comparison of a string function of attributes with constant strings; None of any other."""
        call, *constants = node.operands
        if node.op in ("=", "!=", "<>") and constants[0].op in PARTS | JOINS:
            call, constants = constants[0], [call]
        texts = [each.value for each in constants if each.op == "literal" and isinstance(each.value, str)]
        is_equality = node.op in ("=", "!=", "<>", "IN", "NOT IN")
        if call.op not in PARTS | JOINS or not is_equality or len(texts) < len(constants):
            return None
        arguments = [self.variants(operand) for operand in call.operands]
        if EVENT_FUNCTIONS[call.op.removesuffix("()")].types(len(arguments)) is None or all(
            map(_is_constant, arguments)
        ):
            return None
        if call.op in PARTS:
            truths = [self._part(call, arguments, text) for text in texts]
        else:
            truths = [self._join(call, arguments, text) for text in texts]
        known_truths = [truth for truth in truths if truth is not None]
        if len(known_truths) < len(truths):
            return None
        true, false = any_of(each.true for each in known_truths), all_of(each.false for each in known_truths)
        return decided(true, false, known_truths[0].after_true)

    def _part(self, call: Node, arguments: Sequence[Sequence[Variant]], text: str) -> Truth | None:
        """Return whether a part of a string is a text; None unless its place is constant."""
        subject, *places = arguments
        numbers = [cast(each[0], ValueType.NUMBER) if _is_constant(each) else None for each in places]
        counts = [int(each.value or 0) for each in numbers if isinstance(each, Constant)]
        if len(counts) < len(numbers):
            return None
        return _either([(each.guard, self._is_part(each, call, counts, text)) for each in subject])

    def _is_part(self, variant: Variant, call: Node, numbers: Sequence[int], text: str) -> Truth:
        expression = cast(variant, ValueType.STRING)
        if (
            expression is None
            or (numbers and call.op != "SUBSTRING()" and numbers[0] < 0)
            or min(numbers[1:], default=0) < 0
        ):
            return _ERROR
        if call.op == "TRIM()":
            if text and (is_space(text[0]) or is_space(text[-1])):
                return decided(FALSE, has_value(expression), has_value(expression))
            regex = self._reader.located(call.token, validate_regex, trimmed_regex(text))
            return self._tested(RegexTest(expression, regex), call.token)
        room = abs(numbers[0]) if call.op == "SUBSTRING()" else 0
        if room > MAX_PATTERN:
            raise self._reader.error_at(call.token, f"a position beyond {MAX_PATTERN:,}", "test a place before it")
        guard = self._like(variant, "_" * room + "%", call.token).true if room else has_value(expression)
        pattern = part_pattern(call.op, numbers, text)
        if pattern is None:
            return decided(FALSE, guard, guard)
        found = self._like(variant, self._reader.located(call.token, validate_pattern, pattern), call.token)
        return decided(found.true, all_of((guard, found.false)), guard)

    def _join(self, call: Node, arguments: Sequence[Sequence[Variant]], text: str) -> Truth | None:
        """Return whether strings joined are a text; None if one depends on a condition."""
        if any(len(each) != 1 or each[0].guard != TRUE for each in arguments):
            return None
        pieces: list[str | Variant] = []
        for (each,) in arguments:
            piece = cast(each, ValueType.STRING)
            pieces.append(str(piece.value) if isinstance(piece, Constant) else each)
        if call.op == "CONCAT_WS()":
            if not isinstance(pieces[0], str):
                return None
            pieces = [part for piece in pieces[1:] for part in (pieces[0], piece)][1:]
        found = list(islice(splits(pieces, text), _MAX_ELEMENTS + 1))
        if len(found) > _MAX_ELEMENTS:
            problem = f"more than {_MAX_ELEMENTS} ways to divide the string among the attributes"
            raise self._reader.error_at(call.token, problem, "compare the attributes one by one")
        ways = [
            [self._cast_comparison(Op.EQ, each, constant(value), ValueType.STRING, call.token) for each, value in way]
            for way in found
        ]
        casts = [cast(piece, ValueType.STRING) for piece in pieces if isinstance(piece, Variant)]
        guard = all_of(has_value(each) for each in casts if each is not None)
        true = any_of(all_of(each.true for each in way) for way in ways)
        return decided(true, all_of((guard, *(any_of(each.false for each in way) for way in ways))), guard)

    def _compared(self, op: Op, left: Variant, right: Variant, token: Token) -> Truth:
        """Return a comparison: of ints if the operator orders, else of the type of the right operand."""
        if op in ORDERING:
            return self._cast_comparison(op, left, right, ValueType.NUMBER, token)
        if right.type is not None:
            return self._cast_comparison(op, left, right, right.type, token)
        if isinstance(left.expression, Constant):
            return self._member_of_constants(right, [left], token)
        return _one_of_types([self._cast_comparison(op, left, right, type, token) for type in _TYPES])

    def _cast_comparison(self, op: Op, left: Variant, right: Variant, type: ValueType, token: Token) -> Truth:
        a = cast(left, type)
        b = right.expression if op is Op.EQ else cast(right, type)  # a right operand of another type is unknown
        if a is None or b is None:
            return _ERROR
        truth = self._tested(Comparison(op, a, b), token)
        if left.attribute is None or type is not ValueType.STRING or op is not Op.EQ or not isinstance(b, Constant):
            return truth
        return decided(has_text(left.attribute, str(b.value)), truth.false, truth.after_true)

    def _like(self, left: Variant, pattern: str, token: Token) -> Truth:
        text = cast(left, ValueType.STRING)
        if text is None:
            return _ERROR
        truth = self._tested(Like(text, pattern), token)
        if left.attribute is None:
            return truth
        return decided(text_is_like(left.attribute, pattern), truth.false, truth.after_true)

    def _member(self, left: Variant, elements: Sequence[Sequence[Variant]], token: Token) -> Truth:
        """Return whether an element is equal, cast to the type of the left operand; all elements are evaluated."""
        if not all(elements):
            return _ERROR
        constants = [variants[0] for variants in elements if _is_constant(variants)]
        truths = [self._member_of_constants(left, constants, token)] if constants else []
        for variants in elements:
            if not _is_constant(variants):
                truths.append(_either([(each.guard, self._equal_element(left, each, token)) for each in variants]))
        if len(truths) == 1:
            return truths[0]
        if len(truths) > _MAX_ELEMENTS:
            problem = f"more than {_MAX_ELEMENTS} elements of IN that are not constants"
            raise self._reader.error_at(token, problem, "write several rules")
        evaluated = [known(each) for each in truths]
        true = any_of(
            all_of((each.true, *evaluated[:index], *evaluated[index + 1 :])) for index, each in enumerate(truths)
        )
        return decided(true, all_of(each.false for each in truths), all_of(evaluated))

    def _member_of_constants(self, left: Variant, constants: Sequence[Variant], token: Token) -> Truth:
        types = _TYPES if left.type is None else (left.type,)
        casts = [[cast(each, type) for each in constants] for type in types]
        valid = [members for members in casts if None not in members]
        values = [each.value for members in valid for each in members if isinstance(each, Constant)]
        if not values:
            return _ERROR
        truth = self._tested(Membership(left.expression, value_set(values, "value")), token)
        return truth if len(valid) == len(casts) else decided(truth.true, truth.false)

    def _equal_element(self, left: Variant, element: Variant, token: Token) -> Truth:
        types = _TYPES if left.type is None else (left.type,)
        found = [(left.expression, cast(element, type)) for type in types]
        truths = [_ERROR if b is None else self._tested(Comparison(Op.EQ, a, b), token) for a, b in found]
        return truths[0] if len(truths) == 1 else _one_of_types(truths)

    def _as_bool(self, variant: Variant, token: Token) -> Truth:
        expression = cast(variant, ValueType.BOOL)
        return _ERROR if expression is None else self._tested(Comparison(Op.EQ, expression, Constant(True)), token)

    def _tested(self, test: Comparison | Like | RegexTest | Membership, token: Token) -> Truth:
        """Return the condition of a test that is an error where it is unknown."""
        operands = operands_of(test)
        for operand in operands:
            self._reader.check_expression(operand, token)
        if all(isinstance(operand, Constant) for operand in operands):
            return {Outcome.TRUE: _YES, Outcome.FALSE: _NO}.get(outcome(test, {}), _ERROR)
        guard = all_of(map(has_value, operands))
        return decided(test, Not(test), guard)

    def _pattern(self, node: Node) -> str:
        """Return our pattern: a `\\` that is not before % or _ stands for itself."""
        parts: list[str] = []
        text = str(node.value)
        for index, char in enumerate(text):
            if char in "%_" and text[index - 1 : index] != "\\":
                parts.append(char)
            elif char != "\\" or text[index + 1 : index + 2] not in ("%", "_"):
                parts.append(escape_pattern(char))
        return self._reader.located(node.token, validate_pattern, "".join(parts))


def _either(branches: Sequence[tuple[Formula, Truth]]) -> Truth:
    """Return the condition whose guard holds; at most one does. It is an error if none does."""
    if len(branches) == 1 and branches[0][0] == TRUE:
        return branches[0][1]
    return Truth(
        lambda: any_of(all_of((guard, truth.true)) for guard, truth in branches),
        lambda: any_of(all_of((guard, truth.false)) for guard, truth in branches),
        lambda: any_of(all_of((guard, truth.after_true)) for guard, truth in branches),
        lambda: any_of(all_of((guard, truth.after_false)) for guard, truth in branches),
    )


def _one_of_types(truths: Sequence[Truth]) -> Truth:
    """Return the condition for the type that an attribute turns out to have."""
    true, false = any_of(truth.true for truth in truths), any_of(truth.false for truth in truths)
    return decided(true, false)


def _is_constant(variants: Sequence[Variant]) -> bool:
    return len(variants) == 1 and isinstance(variants[0].expression, Constant) and variants[0].guard == TRUE
