from cbnet.network.link.counters import DropReason, Event, denials, drop_text, drops, events

COUNTERS = {"published": 3, "dropped.duplicate": 2, "dropped.new_reason": 1, "denied.tls": 4}


def test_counters_are_split_by_identifier():
    assert drops(COUNTERS) == {"duplicate": 2, "new_reason": 1}
    assert denials(COUNTERS) == {"tls": 4}
    assert events(COUNTERS) == {"published": 3}


def test_identifiers_are_metric_labels():
    assert all(identifier.isidentifier() and identifier.islower() for identifier in (*Event, *DropReason))


def test_every_drop_reason_has_a_text_and_unknown_ones_are_shown_as_words():
    assert drop_text(DropReason.TOO_MANY_HOPS) == "too many hops"
    assert len({drop_text(reason) for reason in DropReason}) == len(DropReason)
    assert drop_text("new_reason") == "new reason"
