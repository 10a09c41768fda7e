"""Numbers for what comes and goes."""

from cbnet.routing.aggregation.match_slots import Slots


def test_a_number_that_is_given_back_is_taken_again():
    slots = Slots()
    assert [slots.take(name) for name in "abca"] == [0, 1, 2, 0]
    assert slots.release("b") == 1
    assert slots.take("d") == 1
    assert slots.take("e") == 3
    assert [slots.holder(slot) for slot in range(4)] == ["a", "d", "c", "e"]
    assert len(slots) == 4
