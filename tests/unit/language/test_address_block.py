"""Blocks of addresses, alone and in the language."""

import pytest

from cbnet.errors import PredicateSyntaxError, ValueDomainError
from cbnet.language import parse
from cbnet.language.address_block import block_contains, block_of, block_text, common_prefix
from cbnet.language.condition import Outcome
from cbnet.language.constraint import Constraint


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("10.1.2.3/8", "10.0.0.0/8"), ("0.0.0.0/0", "0.0.0.0/0"), ("2001:DB8:0::1/32", "2001:db8::/32"),
        ("::ffff:10.0.0.1/128", "::ffff:a00:1/128"), ("::ffff:0.0.0.0/96", "::ffff:0:0/96"),
        ("::10.0.0.1/128", "::a00:1/128"),
    ],
)  # fmt: skip
def test_a_block_has_one_spelling(text, canonical):
    assert block_text(block_of(text)) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "10.0.0.0",
        "10.0.0/8",
        "10.0.0.0/33",
        "10.0.0.0/-1",
        "10.0.0.0/255.0.0.0",
        "010.0.0.0/8",
        "::/129",
        "fe80::1%a/64",
        "",
    ],
)
def test_what_is_not_a_block_is_refused(text):
    with pytest.raises(ValueDomainError, match="not a block of addresses; write an address"):
        block_of(text)


@pytest.mark.parametrize(
    ("block", "address", "expected"),
    [
        ("10.0.0.0/8", "10.255.0.1", True),
        ("10.0.0.0/8", "11.0.0.0", False),
        ("10.0.0.0/9", "10.127.255.255", True),
        ("10.0.0.0/9", "10.128.0.0", False),
        ("10.0.0.0/8", "10.0.0.01", None),
        ("10.0.0.0/8", "10.0.0", None),
        ("10.0.0.0/8", "::ffff:10.0.0.1", False),  # an IPv6 address
        ("2001:db8::/32", "2001:0DB8:0:0::5", True),
        ("2001:db8::/32", "2001:db9::", False),
        ("2001:db8::/32", "2001:db8::%eth0", None),
        ("::/0", "1.2.3.4", False),
    ],
)
def test_a_block_contains_addresses_of_its_version(block, address, expected):
    assert block_contains(block_of(block), address) is expected


@pytest.mark.parametrize(
    ("block", "prefix"),
    [
        ("10.1.2.3/8", "10."),
        ("10.1.2.3/23", "10.1."),
        ("10.1.2.3/32", "10.1.2.3"),
        ("10.0.0.0/7", ""),
        ("2001::/16", ""),
    ],
)
def test_addresses_of_a_block_share_a_prefix(block, prefix):
    assert common_prefix(block_of(block)) == prefix


def test_a_test_of_an_address_implies_its_prefix():
    (filter,) = parse('ip in cidr("10.1.2.3/16")').filters
    assert filter.constraints == (Constraint("ip", "^=", "10.1."),)
    assert str(filter) == 'ip in cidr("10.1.0.0/16")'


@pytest.mark.parametrize(
    "text", ['ip not in cidr("10.0.0.0/8")', '(ip in cidr("::/0")) is not true', 'lower(ip) in cidr("fe80::/10")']
)
def test_printing_a_test_of_an_address_gives_its_text(text):
    assert str(parse(text)) == text


@pytest.mark.parametrize("value", ["no address", 5, True, None])
def test_what_is_not_an_address_is_unknown(value):
    (condition,) = parse('ip in cidr("0.0.0.0/0")').filters[0].conditions
    assert condition.outcome({"ip": value}, (), ()) is Outcome.UNKNOWN


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ip in cidr(5)", "1:12: expected a block of addresses"),
        ('ip in cidr("10.0.0.0")', '1:12: "10.0.0.0" is not a block of addresses'),
        ('ip in cidr("10.0.0.0/8", "::/0")', "1:24: expected `\\)`; write one block"),
        ("ip in cidr", "1:7: expected a list of values"),
    ],
)
def test_mistakes_have_a_place_and_a_remedy(text, problem):
    with pytest.raises(PredicateSyntaxError, match=problem):
        parse(text)
