"""What is announced to each target: the filters of its sources that no other covers."""

from itertools import pairwise

import pytest

from cbnet import InputError, parse_filter
from cbnet.language import Message
from cbnet.language.relations.normal_form import normalised
from cbnet.language.syntax.byte_form import filter_from_bytes, filter_to_bytes
from cbnet.network.forwarding.timed_table import TimedTable, empty_table
from cbnet.routing.aggregation.aggregation import Aggregation
from cbnet.routing.aggregation.match_slots import Slots


def encoded(*texts):
    return [normalised(filter_to_bytes(parse_filter(text))) for text in texts]


def texts(filters):
    return {str(filter_from_bytes(filter)) for filter in filters}


@pytest.fixture
def table():
    return TimedTable(empty_table())


@pytest.fixture
def known(table):
    """Own clients and two streams, with the filters of the drawing in the module."""
    made = Aggregation(table, Slots())
    made.add_source("own", is_matched=False)
    for stream in ("north", "south"):
        made.add_source(stream)
    made.change("own", encoded("x > 7", "#a"), [])
    made.change("north", encoded("x > 5", "y = 1"), [])
    made.change("south", encoded("x > 9"), [])
    return made


def test_content_is_the_reduced_union_of_the_sources(known):
    known.open("to south", ["own", "north"])
    known.open("to north", ["own", "south"])
    assert texts(known.content("to south")) == {"x > 5", "y = 1", "#a"}
    assert texts(known.content("to north")) == {"x > 7", "#a"}
    assert (known.size("to south"), known.size("to north"), len(known)) == (3, 2, 5)


def test_a_covered_filter_is_announced_when_nothing_covers_it_any_more(known):
    known.open("to south", ["own", "north"])
    known.change("north", [], encoded("x > 5"))
    added, removed = known.take("to south")
    assert (texts(added), texts(removed)) == ({"x > 7"}, {"x > 5"})
    assert not known.has_pending("to south")


def test_filters_removed_together_are_not_announced_in_between(known):
    known.change("own", encoded("x > 6"), [])
    known.open("target", ["own"])
    known.change("own", [], encoded("x > 6", "x > 7"))
    added, removed = known.take("target")
    assert (added, texts(removed)) == ([], {"x > 6"})


def test_changes_that_cancel_leave_nothing_pending(known):
    known.open("target", ["own", "north"])
    known.change("own", encoded("z = 1"), [])
    assert known.has_pending("target")
    known.change("own", [], encoded("z = 1"))
    assert not known.has_pending("target")


def test_of_filters_that_cover_each_other_the_one_with_fewer_parts_is_announced(known):
    for order in (("x >= 6 and x <= 6", "x = 6"), ("x = 6", "x >= 6 and x <= 6")):
        known.add_source("new")
        known.add_source("other")
        known.open("target", ["new", "other"])
        for source, text in zip(("new", "other"), order, strict=True):
            known.change(source, encoded(text), [])
        assert texts(known.content("target")) == {"x = 6"}
        known.close("target")
        known.remove_source("new")
        known.remove_source("other")


def test_a_filter_is_in_the_table_once(known, table):
    known.change("south", encoded("x > 5"), [])
    assert len(table.match(Message({"x": 6}))) == 1
    assert known.matched(table.match(Message({"x": 6}))) == known.bit("north") | known.bit("south")
    assert known.matched(table.match(Message({"x": 5}, ["a"]))) == 0  # own filters are not in it
    known.change("north", [], encoded("x > 5"))
    assert known.matched(table.match(Message({"x": 6}))) == known.bit("south")


def test_a_source_begins_with_the_content_of_another(known, table):
    known.add_source("new", "north")
    assert known.filters("new") == known.filters("north")
    assert known.count("new") == 2
    assert known.matched(table.match(Message({"y": 1}))) == known.bit("north") | known.bit("new")
    known.change("new", [], encoded("y = 1"))
    assert known.matched(table.match(Message({"y": 1}))) == known.bit("north")
    assert texts(known.filters("new")) == {"x > 5"}


def test_removing_a_source_removes_its_filters_from_the_table(known, table):
    known.add_source("new", "north")
    known.remove_source("north")
    assert known.matched(table.match(Message({"x": 6}))) == known.bit("new")
    known.remove_source("new")
    assert table.match(Message({"x": 6, "y": 1})) == []
    assert len(known) == 3


def finish(known):
    """Do all work that is left; return in how many slices."""
    slices = 0
    while known.has_work:
        known.work()
        slices += 1
    return slices


def many(count, first=0):
    return encoded(*(f"x = {first + value}" for value in range(count)))


def test_a_source_with_very_many_filters_is_removed_in_slices(table):
    known = Aggregation(table, Slots(), slice=100)
    for name in ("north", "south", "own"):
        known.add_source(name, is_matched=name != "own")
    known.change("north", many(950), [])
    known.change("south", many(200), [])
    known.change("own", many(200, 150), [])
    known.open("target", ["own", "south"])
    finish(known)
    before, bit = known.content("target"), known.bit("north")
    known.remove_source("north")
    left, sizes = [len(known)], [table.size]
    known.add_source("north")
    assert known.bit("north") != bit
    known.change("north", many(1, 949), [])  # which was on its way out
    while known.has_work:
        known.work()
        left.append(len(known))
        sizes.append(table.size)
    assert max(first - second for first, second in pairwise(sizes)) <= 100
    assert len(left) >= 8
    assert (left[-1], sizes[-1]) == (351, 201)
    assert known.content("target") == before
    assert known.matched(table.match(Message({"x": 949}))) == known.bit("north")
    assert known.matched(table.match(Message({"x": 10}))) == known.bit("south")
    assert table.match(Message({"x": 300})) == []


def test_a_target_of_very_many_filters_is_closed_in_slices(table):
    known = Aggregation(table, Slots(), slice=10)
    known.add_source("north")
    known.change("north", many(950), [])
    for target in ("first", "second", "third"):
        known.open(target, ["north"])
    finish(known)
    known.close("first")
    known.close("second")
    known.open("first", ["north"])  # while traces of it are left
    known.change("north", many(1, 950), many(1))
    assert known.content("third") == set(many(950, 1))
    assert not known.is_ready("first")
    while not known.is_ready("first"):
        known.work()
    assert finish(known) == 4 + 5  # of 200 rows; then again, for what was closed meanwhile
    assert known.content("first") == known.content("third") == set(many(950, 1))


def test_filters_that_no_target_compares_any_more_leave_the_index_in_slices(table):
    known = Aggregation(table, Slots(), slice=100)
    known.add_source("own", is_matched=False)
    known.change("own", many(950), [])
    known.open("target", ["own"])
    finish(known)
    known.close("target")
    index, left = known._unions.rows.index, []
    while known.has_work:
        left.append(len(index))
        known.work()
    assert left == [*range(850, 0, -100)]
    known.open("target", ["own"])
    known.change("own", encoded("x < 100"), [])
    finish(known)
    assert known.content("target") == {*many(850, 100), *encoded("x < 100")}


@pytest.fixture
def covered(table):
    """A target with 40 filters, of which 20 are above another one, and a filter that covers all."""
    known = Aggregation(table, Slots(), slice=5)
    known.add_source("own", is_matched=False)
    known.open("target", ["own"])
    for each in (*many(20), *encoded("x = 30"), *encoded(*(f"x = 3 and y = {y}" for y in range(20)))):
        known.change("own", [each], [])
    known.change("own", encoded("x > 25"), [])
    finish(known)
    known.take("target")
    return known


def test_a_wide_filter_is_announced_at_once_and_what_it_covers_withdrawn_in_slices(covered):
    before = covered.content("target")
    assert texts(before) == {*(f"x = {x}" for x in range(20)), "x > 25"}
    covered.change("own", encoded("x >= 0"), [])
    added, removed = covered.take("target")
    assert (texts(added), removed) == ({"x >= 0"}, [])
    sizes = []
    while covered.has_work:
        covered.work()
        sizes.append(len(covered.take("target").removed))
    assert sum(sizes) == len(before)
    assert max(sizes) <= 5


def test_a_wide_filter_is_withdrawn_after_the_last_that_it_covered_is_announced(covered):
    before = covered.content("target")
    covered.change("own", encoded("x >= 0"), [])
    finish(covered)
    covered.take("target")
    covered.change("own", [], encoded("x >= 0"))
    announced, differences = 0, [covered.take("target")]
    while covered.has_work:
        covered.work()
        differences.append(covered.take("target"))
        announced += len(differences[-1].added)
        assert not differences[-1].removed or announced == len(before)
    assert [each for each in differences if each.removed] == [differences[-1]]
    assert max(len(each.added) for each in differences) <= 5
    assert covered.content("target") == before


def test_a_filter_that_covered_visited_ones_is_lost_before_its_turn_comes(covered):
    """x = 30 is not announced in its turn, as x > 25 covers it; then this is lost, before it is announced itself."""
    covered.change("own", encoded("x >= 0"), [])
    finish(covered)
    covered.change("own", [], encoded("x >= 0"))
    for _ in range(6):
        covered.work()
    sweep = next(iter(covered._unions.rows._sweeps.values()))
    assert covered._store.find(*encoded("x = 30")) < sweep.cursor <= covered._store.find(*encoded("x > 25"))
    covered.change("own", [], encoded("x > 25"))
    finish(covered)
    assert texts(covered.content("target")) == {*(f"x = {x}" for x in range(20)), "x = 30"}


def test_a_neighbour_gets_changes_below_the_cursor_after_the_last_slice(table):
    known = Aggregation(table, Slots(), slice=5)
    known.add_source("north")
    known.change("north", many(100), [])
    known.open("target", ["north"])
    finish(known)
    known.begin("target", None)
    sent = set(known.send_some("target").added)
    assert sent == set(many(5))
    known.change("north", [], many(1))  # below the cursor: the neighbour has it
    known.change("north", [], many(1, 99))  # above
    while known.is_sending("target"):
        added, removed = known.send_some("target")
        assert len(added) <= 5
        assert not removed
        sent |= set(added)
    assert sent == set(many(99))
    assert known.take("target") == ([], many(1))


def test_a_source_in_use_is_not_removed(known):
    known.open("target", ["north"])
    with pytest.raises(ValueError, match="close its targets first"):
        known.remove_source("north")


def test_an_invalid_filter_changes_nothing(known):
    known.open("target", ["north", "own"])
    for invalid in (b"", b"\xc0", b"\x92\xa1b\xa1a"):  # the last has its tags in the wrong order
        with pytest.raises(InputError):
            known.change("north", [*encoded("z = 1"), invalid], encoded("y = 1"))
        with pytest.raises(InputError):
            known.change("north", encoded("z = 1"), [invalid])
    assert texts(known.filters("north")) == {"x > 5", "y = 1"}
    assert not known.has_pending("target")


def test_adding_a_present_and_removing_an_absent_filter_is_ignored(known):
    known.open("target", ["north", "own"])
    known.change("north", encoded("x > 5"), encoded("z = 1", "x > 9"))
    assert texts(known.filters("north")) == {"x > 5", "y = 1"}
    assert not known.has_pending("target")


def test_a_filter_that_no_message_matches_is_not_announced(known):
    assert normalised(filter_to_bytes(parse_filter("x > 2 and x < 2"))) is None
    known.open("target", ["own"])
    known.change("own", [b"\x92\x93\xa1x\x02\x02\x93\xa1x\x04\x02"], [])  # x < 2 and x > 2
    assert texts(known.content("target")) == {"x > 7", "#a"}


def test_a_condition_that_another_one_implies_is_not_announced():
    both = encoded('string(x) in cidr("10.0.0.0/8") and (string(x) in cidr("10.0.0.0/8")) is not false')
    assert both == encoded('string(x) in cidr("10.0.0.0/8")')


def test_a_target_of_one_stream_is_not_compared(known):
    known.open("target", ["north"])
    assert len(known._unions.rows.index) == 0
    assert known.content("target") == known.filters("north")
    known.open("other", ["north", "south"])
    assert len(known._unions.rows.index) == 3
    known.close("other")
    assert len(known._unions.rows.index) == 0


def test_a_stream_that_is_not_reduced_loses_nothing(known):
    """A neighbour may announce a covered filter: comparisons begin and end without losing it."""
    known.open("target", ["north", "south"])
    known.change("south", [], encoded("x > 9"))
    known.change("north", encoded("x > 8"), [])
    known.change("south", encoded("#b"), [])
    known.change("south", [], encoded("#b"))
    known.change("north", [], encoded("x > 5"))
    assert {"x > 8", "y = 1"} <= texts(known.content("target"))


def test_the_announced_filter_that_covers_another(known):
    known.open("target", ["own", "north"])
    assert texts([known.announced("target", *encoded("x > 7"))]) == {"x > 5"}
    assert texts([known.announced("target", *encoded("x > 5"))]) == {"x > 5"}
    assert texts([known.announced("target", *encoded("x = 8 and #c"))]) == {"x > 5"}
    assert known.announced("target", *encoded("x > 4")) is None
    assert len(known) == 5


def test_the_nearest_target_has_the_fewest_differences(known):
    known.open("all", ["own", "north", "south"])  # x > 5, y = 1, #a
    known.open("north", ["north"])  # x > 5, y = 1
    known.open("own", ["own"])  # x > 7, #a
    known.open("south", ["south"])  # x > 9
    assert known.nearest("all", ["south", "own", "north", "all"]) == "north"
    assert known.nearest("south", ["all", "own"]) is None
    known.begin("all", "own")
    added, removed = known.send_some("all")
    assert (texts(added), texts(removed)) == ({"x > 5", "y = 1"}, {"x > 7"})
    known.begin("all", None)
    assert set(known.send_some("all").added) == known.content("all")


@pytest.mark.parametrize(
    ("before", "change", "also_own", "withdrawn", "content"),
    [  # a stream announces first, and withdraws later; meanwhile own clients want what it withdraws, too
        (["x = 1", "x = 2", "x = 3"], "x > 0", "x = 1", ["x = 1", "x = 2", "x = 3"], {"x > 0"}),
        (["x > 0", "y = 1", "y = 2"], "x = 1", "x > 0", ["x > 0"], {"x > 0", "y = 1", "y = 2"}),
    ],
)
def test_a_stream_that_covers_its_own_filters_for_a_while_leaves_none_of_them_announced(
    table, before, change, also_own, withdrawn, content
):
    known = Aggregation(table, Slots(), slice=2)
    known.add_source("own", is_matched=False)
    known.add_source("north")
    known.change("north", encoded(*before), [])
    known.open("target", ["own", "north"])
    while not known.is_ready("target"):
        known.work()
    known.change("own", encoded(also_own), [])  # from now on filters are compared, in slices
    assert known.has_work
    known.change("north", encoded(change), [])
    while known.has_work:
        known.work()
    known.change("north", [], encoded(*withdrawn))
    while known.has_work:
        known.work()
    assert texts(known.content("target")) == content
    assert known.size("target") == len(content)
