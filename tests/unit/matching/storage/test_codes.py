"""The numbers of types, operators and tests in kernels are those of the enums."""

import re
from itertools import count
from pathlib import Path

from cbnet import _kernels
from cbnet.language import Op
from cbnet.language.values import ValueType
from cbnet.matching.storage.codes import OPS, TESTS, type_of
from cbnet.matching.storage.codes import Test as Code


def declared(file, enum):
    """Return the names and numbers of an enum that a kernel declares."""
    text = Path(_kernels.__file__).with_name(file).read_text()
    body = re.search(rf"cdef enum {enum}:[^\n]*\n((?:    [^\n]*\n)+)", text).group(1)
    names = re.findall(r"(\w+)(?: = (\d+))?", re.sub(r"#.*", "", body))
    numbers = count()
    return {name: int(number) if number else next(numbers) for name, number in names}


def test_kernels_number_operators_by_rank():
    assert declared("test_codes.pxd", "Operator") == {f"OP_{op.name}": op.rank for op in list(Op)[:9]}
    assert [op.rank for op in Op] == list(range(11))  # as in the byte form of filters


def test_kernels_number_tests_as_table_files_do():
    names = {"TAG": "IS_TAG"}
    assert declared("test_codes.pxd", "Test") == {names.get(test.name, test.name): test.value for test in Code}


def test_kernels_number_types_as_table_files_do_and_tags_after_them():
    expected = {kind.name: kind.value for kind in ValueType if kind is not ValueType.NULL}
    assert declared("message_encoding.pxd", "Kind") == {**expected, "NULL_VALUE": ValueType.NULL, "TAG": len(ValueType)}


def test_an_order_operator_has_one_number_from_the_first_test_of_its_type():
    assert TESTS[Op.GT, ValueType.NUMBER] == Code.NUMBER_EQ + Op.GT.rank == Code.NUMBER_GT
    assert TESTS[Op.LE, ValueType.STRING] == Code.STRING_EQ + Op.LE.rank == Code.STRING_LE
    assert OPS[Code.STRING_LT] is Op.LT
    assert type_of(Code.STRING_LT) is ValueType.STRING
