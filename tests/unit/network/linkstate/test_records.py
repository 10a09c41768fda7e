"""Which of two versions is newer."""

import pytest

from cbnet.network.linkstate.records import RecordVersion
from cbnet.network.protocol.fields import MAX_SEQUENCE

HALF = (MAX_SEQUENCE + 1) // 2


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ((2, 1), (1, 5)),
        ((1, 2), (1, 1)),
        ((HALF, 0), (1, 0)),  # fewer than half of the numbers ahead
        ((1, 0), (HALF + 2, 0)),  # more: it is behind
        ((0, 0), (MAX_SEQUENCE, 9)),  # the last number is followed by 0
        ((HALF, 0), (0, 0)),  # opposite: the greater one
        ((HALF + 3, 0), (3, 9)),
    ],
)
def test_sequence_numbers_are_a_circle(newer, older):
    assert RecordVersion(*newer).is_newer(RecordVersion(*older))
    assert not RecordVersion(*older).is_newer(RecordVersion(*newer))


def test_a_version_is_not_newer_than_itself():
    assert not RecordVersion(1, 1).is_newer(RecordVersion(1, 1))


def test_the_last_number_is_followed_by_0():
    assert RecordVersion(MAX_SEQUENCE, 3).next(incarnation=5) == (0, 5)
