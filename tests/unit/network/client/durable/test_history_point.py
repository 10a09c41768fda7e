"""Points in the past, as programs and commands give them."""

from datetime import timedelta

import pytest

from cbnet.errors import InputError
from cbnet.network.client.durable.history_point import history_start
from cbnet.network.protocol.durable_frames import HistoryStart


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
def test_start(since, start):
    assert history_start(since) == start


@pytest.mark.parametrize(
    "since", ["", "yesterday", "-1h", "1 h", "0", 0, -5, 1.5, True, timedelta(hours=-1), "99999999999d"]
)
def test_invalid_start(since):
    with pytest.raises(InputError, match=r"invalid (start|offset)"):
        history_start(since)
