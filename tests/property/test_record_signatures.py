"""Laws of signed records: the owner's signature holds for its record alone, whatever routers do to the age."""

import msgspec
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace
from support.signing_routers import signatures

from cbnet.network.protocol.frames import HomeRecord, LinkField, LinkRecord

names = st.text(min_size=1, max_size=5)
numbers = st.integers(0, 2**63 - 1)
sessions = st.lists(numbers, min_size=1, max_size=3)
neighbours = st.dictionaries(names, st.builds(LinkField, st.integers(1, 1_000_000), sessions), max_size=4)
owners = st.sampled_from("ab")
link_records = st.builds(
    LinkRecord, owners, numbers, numbers, numbers, numbers, neighbours, st.lists(names, max_size=3)
)  # fmt: skip
subscriptions = st.lists(st.tuples(st.text(max_size=3), names), max_size=3)
home_records = st.builds(
    HomeRecord, owners, numbers, numbers, st.text(max_size=9), subscriptions, st.lists(st.binary(max_size=9), max_size=3)
)  # fmt: skip
records = st.one_of(link_records, home_records)
EVERYBODY = signatures("c", "ab")


def same(one, other):
    """Return whether two records are equal but for the age and the signature."""
    return replace(one, signature=b"", **ageless(one)) == replace(other, signature=b"", **ageless(other))


def ageless(record):
    return {"age": 0} if isinstance(record, LinkRecord) else {}


@given(records, numbers)
def test_a_signature_holds_after_a_journey_of_any_length(record, age):
    signed = signatures(record.owner).sign(record)
    received = msgspec.msgpack.decode(msgspec.msgpack.encode(signed), type=type(record))
    if isinstance(record, LinkRecord):
        received = replace(received, age=age, neighbours=dict(reversed(received.neighbours.items())))
    assert EVERYBODY.problem(received) == ""


@given(link_records, link_records)
def test_a_signature_of_one_link_record_holds_for_no_other(one, other):
    check_apart(one, other)


@given(home_records, home_records)
def test_a_signature_of_one_home_record_holds_for_no_other(one, other):
    check_apart(one, other)


def check_apart(one, other):
    signed = signatures(one.owner).sign(one)
    if not same(one, other):
        assert EVERYBODY.problem(replace(other, signature=signed.signature)) != ""
    for member in one.__struct_fields__:
        changed = replace(signed, **{member: getattr(other, member)})
        if not same(changed, one) or changed.signature != signed.signature:
            assert EVERYBODY.problem(changed) != "", member


@given(link_records, st.binary(max_size=64))
def test_bytes_that_are_no_signature_are_refused(record, signature):
    assume(signature != signatures(record.owner).sign(record).signature)
    assert EVERYBODY.problem(replace(record, signature=signature)) != ""


@given(records)
def test_a_signature_holds_in_one_network_only(record):
    assert EVERYBODY.problem(signatures(record.owner, network="other").sign(record)) != ""
