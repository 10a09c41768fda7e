"""What the prober of a churn trial sends and receives, checked as any record."""

import pytest

from cbnet_lab.faults.check.checker import check_record
from cbnet_lab.faults.churn.longest_waits import LongestWaits
from cbnet_lab.faults.churn.prober import AIRLINE, Probed
from cbnet_lab.faults.record import BeginEvent, EndEvent, SettleEvent, SubscribeEvent

BEGIN = [
    BeginEvent(0.0, 2, 0.0, 0.0, delay=float("inf")),
    SubscribeEvent(0.0, "prober", "probes", "b", f'airline = "{AIRLINE}"', kind="plain"),
    SettleEvent(0.0, 0.0),
]


@pytest.mark.parametrize(
    ("received", "kinds"),
    [
        ([1, 2, 3], []),
        ([1, 3], ["lost"]),
        ([1, 2, 2, 3], ["repeated"]),
        ([2, 1, 3], ["order"]),
        ([1, 2, 3, 4], ["spurious"]),
    ],
)
def test_every_message_arrives_once_in_order(received, kinds):
    probed = Probed(LongestWaits(), [(n, float(n)) for n in (1, 2, 3)], [(n, 10.0 + i) for i, n in enumerate(received)])
    assert [*check_record([*BEGIN, *probed.events(), EndEvent(20.0, {})]).violations] == kinds
