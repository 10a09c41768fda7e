"""Which messages of a publisher are known."""

from cbnet.network.durable.storing.publisher_window import PublisherWindow
from cbnet.network.protocol.durable_frames import MAX_UNSETTLED


def test_messages_are_known_from_when_they_are_stored_or_below_the_floor():
    window = PublisherWindow(7)
    for number in (1, 3, 4):
        window.add(number)
    assert [window.has(number) for number in range(1, 6)] == [True, False, True, True, False]
    window.advance(4)
    assert [window.has(number) for number in range(1, 6)] == [True, True, True, True, False]
    window.advance(2)  # an older packet
    assert window.floor == 4
    assert window.fits(3 + MAX_UNSETTLED)
    assert not window.fits(4 + MAX_UNSETTLED)


def test_a_saved_window_is_the_same():
    window = PublisherWindow(7)
    for number in (1, 300, MAX_UNSETTLED):
        window.add(number)
    again = PublisherWindow.recovered(window.saved())
    assert [number for number in range(1, MAX_UNSETTLED + 1) if again.has(number)] == [1, 300, MAX_UNSETTLED]
    assert (again.publisher, again.floor) == (7, 1)
