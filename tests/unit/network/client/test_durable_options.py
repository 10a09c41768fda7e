"""Options of a durable subscription are checked by the client, before they are sent."""

import pytest

from cbnet.errors import InputError
from cbnet.network import DurableLimits
from cbnet.network.client.durable_options import DurableOptions, durable_options


def test_options_have_defaults():
    assert durable_options("", None, None) is None
    assert durable_options("billing", None, None) == DurableOptions("billing", 30.0, None)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("", 30.0, None), '`ack_wait` needs a durable subscription; add durable="NAME", or leave it out'),
        (("", None, DurableLimits(2)), '`limits` needs a durable subscription; add durable="NAME", or leave it out'),
        (("billing", 0, None), "invalid ack_wait 0; use more than 0 and at most 86,400 seconds"),
        (("billing", 86_401, None), "invalid ack_wait 86401; use more than 0 and at most 86,400 seconds"),
        (("x" * 65, None, None), f"{'x' * 65!r} is not a valid durable subscription name; use 1 to 64 printable characters"),
    ],
)  # fmt: skip
def test_options_that_no_router_accepts_are_refused(options, problem):
    with pytest.raises(InputError) as raised:
        durable_options(*options)
    assert raised.value.summary == problem


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        ({"messages": -1}, "invalid limit messages=-1; use a number, or 0 for no limit"),
        ({"bytes": 0.5}, "invalid limit bytes=0.5; use a number, or 0 for no limit"),
        ({"age": float("nan")}, "invalid limit age=nan; use a number, or 0 for no limit"),
        ({"policy": "oldest"}, "unknown policy 'oldest'; use refuse or drop oldest"),
    ],
)
def test_invalid_limits_are_refused(limits, problem):
    with pytest.raises(InputError) as raised:
        DurableLimits(**limits)
    assert raised.value.summary == problem


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (DurableLimits(), "no limits"),
        (DurableLimits(policy="drop oldest"), "no limits (drop oldest)"),
        (DurableLimits(1, 2_000, 0.5, "drop oldest"), "1 message, 2,000 bytes, 0.5 s (drop oldest)"),
        (DurableLimits(bytes=10), "10 bytes (refuse)"),
    ],
)
def test_limits_are_printed_with_their_policy(limits, text):
    assert str(limits) == text
