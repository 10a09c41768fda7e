"""Every limit of a member of a frame is in its type, as docs/reference/protocol.md states it, and is enforced."""

import re
from pathlib import Path

import msgspec
import pytest
from msgspec import inspect

from cbnet.network.protocol import frames
from cbnet.network.protocol.frames import FRAMES
from cbnet.network.protocol.wire import MAX_ROUTER_FRAME_BYTES, FrameReader, WireError, encode

DOCUMENT = (Path(__file__).parents[4] / "docs" / "reference" / "protocol.md").read_text()
LIMIT = re.compile(r"(?:at most|up to|from [01] to|of 1 to) ([\d,]*\d)(?![\d⁶])")
TYPES = {  # the limits of the column `type`
    name: LIMIT.findall(meaning)
    for name, meaning in re.findall(
        r"^\| (.*?) \| (.*) \|$", DOCUMENT.partition("| type below |")[2][:1500], re.MULTILINE
    )
}


def valid(kind):
    """Return the least value that a type allows, as builtins."""
    match kind:
        case inspect.BoolType():
            return False
        case inspect.IntType() | inspect.FloatType():
            bounds = [0, kind.ge, None if kind.gt is None else kind.gt + 1]
            return max(bound for bound in bounds if bound is not None)
        case inspect.StrType():
            return "x" * (kind.min_length or 0)
        case inspect.BytesType():
            return b"x" * (kind.min_length or 0)
        case inspect.ListType() | inspect.VarTupleType():
            return [valid(kind.item_type)] * (kind.min_length or 0)
        case inspect.TupleType():
            return [*map(valid, kind.item_types)]
        case inspect.DictType():
            return {}
        case inspect.UnionType():
            return None if any(isinstance(each, inspect.NoneType) for each in kind.types) else valid(kind.types[0])
        case inspect.LiteralType():
            return kind.values[0]
        case inspect.StructType():
            return [
                *([kind.cls.__struct_config__.tag] * (kind.tag is not None)),
                *(valid(each.type) for each in kind.fields),
            ]
    return None


def beyond(kind):
    """Yield the limits of a type, and of what is in it, each with a value that exceeds it."""
    if isinstance(kind, inspect.IntType | inspect.FloatType):
        if kind.le is not None:
            yield kind.le, kind.le * 1.1 if isinstance(kind, inspect.FloatType) else kind.le + 1
        if kind.lt is not None:
            yield kind.lt - 1, kind.lt
    elif isinstance(kind, inspect.StrType | inspect.BytesType) and kind.max_length is not None:
        yield kind.max_length, ("x" if isinstance(kind, inspect.StrType) else b"x") * (kind.max_length + 1)
    elif isinstance(kind, inspect.ListType | inspect.VarTupleType):
        if kind.max_length is not None:
            yield kind.max_length, [valid(kind.item_type)] * (kind.max_length + 1)
        yield from ((limit, [each]) for limit, each in beyond(kind.item_type))
    elif isinstance(kind, inspect.TupleType):
        for index, item in enumerate(kind.item_types):
            yield from ((limit, replaced(valid(kind), index, each)) for limit, each in beyond(item))
    elif isinstance(kind, inspect.DictType):
        if kind.max_length is not None:
            yield kind.max_length, {f"{number}": valid(kind.value_type) for number in range(kind.max_length + 1)}
        yield from ((limit, {"a": each}) for limit, each in beyond(kind.value_type))
    elif isinstance(kind, inspect.UnionType):
        for each in kind.types:
            if not isinstance(each, inspect.FloatType):  # numbers: an integer beyond its limit is none of the others
                yield from beyond(each)
    elif isinstance(kind, inspect.StructType):
        first = int(kind.tag is not None)
        for index, field in enumerate(kind.fields):
            yield from ((limit, replaced(valid(kind), index + first, each)) for limit, each in beyond(field.type))


def replaced(values, index, value):
    """Return a list with another member."""
    return [*values[:index], value, *values[index + 1 :]]


CASES = [
    pytest.param(limit, value, id=f"{kind.__name__}-{number}-{limit}")
    for kind in FRAMES
    for number, (limit, value) in enumerate(beyond(inspect.type_info(kind)))
]
HELLO = encode(
    frames.Hello(low=5, high=5, role="router", name="a", network="cbnet", incarnation=0, link=0, scheme="pif")
)


@pytest.mark.parametrize(("limit", "value"), CASES)
def test_a_member_beyond_its_limit_closes_the_link_and_names_the_limit(limit, value):
    reader = FrameReader()
    body = msgspec.msgpack.encode(value)
    assert len(body) < MAX_ROUTER_FRAME_BYTES  # else another limit would apply first
    with pytest.raises(WireError) as refused:
        list(reader.feed(HELLO * (value[0] != 1) + len(body).to_bytes(4) + body))
    assert str(limit) in refused.value.reason


def limits(kind):
    """Return the numbers that a type and all that is in it are limited to."""
    return {f"{int(limit):,}" for limit, _ in beyond(kind)}


def test_the_limits_of_members_in_the_document_are_those_of_the_types():
    kinds = {kind.__name__: kind for kind in FRAMES}
    compared = 0
    for name, text in re.findall(r"^### \d+ (\w+)\n(.*?)(?=^##|\Z)", DOCUMENT, re.MULTILINE | re.DOTALL):
        fields = {field.name: field.type for field in inspect.type_info(kinds[name]).fields}
        for member, kind, meaning in re.findall(r"^\| (\w+) \| (.*?) \| (.*) \|$", text, re.MULTILINE):
            if member in fields:
                stated = LIMIT.findall(meaning.partition("; also")[0]) or TYPES.get(kind, [])
                assert {*stated} <= limits(fields[member]), (name, member)
                compared += len(stated)
    assert compared > 100
