"""Options of subscriptions are checked by the client, before they are sent."""

from datetime import timedelta

import pytest

from cbnet.errors import InputError
from cbnet.network import DurableLimits
from cbnet.network.client.async_subscription import DurableOptions, durable_options, history_start
from cbnet.network.protocol.durable_frames import HistoryStart


def test_durable_options_have_defaults():
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


@pytest.mark.parametrize(
    ("since", "start"),
    [
        ("first", HistoryStart()),
        (17, HistoryStart(offset=17)),
        ("17", HistoryStart(offset=17)),
        ("90s", HistoryStart(age=90.0)),
        ("15m", HistoryStart(age=900.0)),
        (" 1.5h ", HistoryStart(age=5_400.0)),
        ("2d", HistoryStart(age=172_800.0)),
        (timedelta(minutes=2), HistoryStart(age=120.0)),
    ],
)
def test_start_in_the_past(since, start):
    assert history_start(since) == start


@pytest.mark.parametrize(
    "since",
    [
        "",
        "yesterday",
        "-1h",
        "1 h",
        "0",
        0,
        -5,
        1.5,
        True,
        timedelta(hours=-1),
        "99999999999d",
        2**63,
        10**23,
        str(2**63),
        "9" * 5_000,
        "9" * 5_000 + "d",
    ],
)
def test_invalid_start_in_the_past(since):
    with pytest.raises(InputError, match=r"invalid (start|offset)"):
        history_start(since)
