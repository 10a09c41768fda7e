"""Which messages of a publisher are known."""

from cbnet.network.durable.storing.publisher_window import WINDOW, PublisherWindow


def test_messages_are_known_from_when_they_are_stored_or_below_the_floor():
    window = PublisherWindow(7)
    for number in (1, 3, 4):
        window.add(number)
    assert [window.has(number) for number in range(1, 6)] == [True, False, True, True, False]
    window.advance(4)
    assert [window.has(number) for number in range(1, 6)] == [True, True, True, True, False]
    window.advance(2)  # an older packet
    assert window.floor == 4
    assert window.fits(3 + WINDOW)
    assert not window.fits(4 + WINDOW)


def test_a_saved_window_is_the_same():
    window = PublisherWindow(7)
    for number in (1, 300, WINDOW):
        window.add(number)
    again = PublisherWindow.recovered(window.saved())
    assert [number for number in range(1, WINDOW + 1) if again.has(number)] == [1, 300, WINDOW]
    assert (again.publisher, again.floor) == (7, 1)
