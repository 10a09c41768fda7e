"""Tests of items of arrays are paid for by the rules that make them; nobody else is affected."""

import pytest

from cbnet import Table, parse
from cbnet.errors import UndecidedError
from cbnet.language.filter import Filter
from cbnet.matching import LiveTable
from cbnet.matching.item_payment import COST, FREE
from cbnet.network.forwarding.search_credit import NEIGHBOURS, MessageCredit

ITEMS = 400
PRICE = (ITEMS + 2) * COST  # of one quantifier: the items, the array and the message
LONG = {"p": [*range(ITEMS)], "x": 1}
ATTACKS = {f"attack {n}": f"count(p (@ > {n})) = {ITEMS - 1 - n}" for n in range(40)}  # all match
HONEST = {"honest": "all p (@ >= 0)", "plain": "x = 1", "shared": ATTACKS["attack 39"], "none": "none p (@ = 7)"}


class Credit:
    """A credit for each payer: all attacks have the same one."""

    def __init__(self, **left):
        self.left = {"attack": 0, **left}

    def payer(self, rule):
        return rule.partition(" ")[0]

    def limit(self, rule):
        return self.left.get(self.payer(rule), 0)

    def charge(self, rule, count):
        self.left[self.payer(rule)] -= count


def live_table(rules, is_compiled):
    live = LiveTable(Table.build(rules if is_compiled else {}))
    for name, text in {} if is_compiled else rules.items():
        live.replace(name, parse(text))
    return live


@pytest.fixture(params=[True, False], ids=["compiled", "memtable"])
def is_compiled(request):
    return request.param


@pytest.fixture
def examined(monkeypatch):
    """The number of items that were tested."""
    counts, matches = [0], Filter.matches

    def counted(self, message):
        counts[0] += message.budget is not None
        return matches(self, message)

    monkeypatch.setattr(Filter, "matches", counted)
    return counts


def test_a_bounded_number_of_items_is_examined_and_others_are_decided(is_compiled, examined):
    live = live_table(ATTACKS | HONEST, is_compiled)
    left = {"honest": PRICE, "none": PRICE, "shared": PRICE}
    credit = Credit(attack=3 * PRICE, **left)
    with pytest.raises(UndecidedError) as caught:
        live.match(LONG, credit)
    decided, undecided = set(caught.value.rules), set(caught.value.undecided)
    assert decided >= {"honest", "plain", "shared"}
    assert undecided.isdisjoint(HONEST)
    assert decided | undecided == {*ATTACKS, *HONEST} - {"none"}
    assert 3 <= len(decided & {*ATTACKS}) <= 3 + FREE // ITEMS + 1  # and the shared one
    assert 0 <= credit.left["attack"] < COST
    assert examined[0] <= FREE + 6 * ITEMS


def test_nothing_is_examined_when_nobody_can_pay(is_compiled, examined):
    live = live_table(ATTACKS, is_compiled)
    with pytest.raises(UndecidedError) as caught:
        live.match({"p": [*range(FREE + 1)]}, Credit())
    assert set(caught.value.undecided) == {*ATTACKS}
    assert examined[0] == 0


def test_short_arrays_need_no_credit(is_compiled):
    live = live_table(HONEST, is_compiled)
    assert live.match({"p": [1, 2], "x": 1}, Credit()) == ["honest", "plain", "none"]


def test_an_undecided_attribute_is_not_taken_for_an_absent_one(is_compiled):
    rules = {"open": "(count(p (@ > 1)) > 3) is not true", "either": "x = 1 or count(p (@ > 2)) = 5", "plain": "x = 1"}
    with pytest.raises(UndecidedError) as caught:
        live_table(rules, is_compiled).match({"p": [*range(FREE + 1)], "x": 1}, Credit())
    assert (set(caught.value.undecided), set(caught.value.rules)) == ({"open"}, {"either", "plain"})


def test_rules_that_were_removed_do_not_pay_and_are_not_named(is_compiled):
    live = live_table(ATTACKS, is_compiled)
    for name in [*ATTACKS][1:]:
        live.replace(name, parse("false"))
    with pytest.raises(UndecidedError) as caught:
        live.match({"p": [*range(FREE + 1)]}, Credit())
    assert list(caught.value.undecided) == ["attack 0"]


def test_arrays_inside_items_are_paid_for_too(is_compiled, examined):
    live = live_table({"attack": "all p (none q (@ < 0))", "honest": "all p (count(q) = 40)"}, is_compiled)
    credit = Credit(honest=10 * FREE * COST)
    with pytest.raises(UndecidedError) as caught:
        live.match({"p": [{"q": [*range(40)]}] * 60}, credit)
    assert (list(caught.value.undecided), list(caught.value.rules)) == (["attack"], ["honest"])
    assert examined[0] <= FREE + 2 * 60


def test_what_is_charged_for_a_message_is_within_the_limits_of_a_router():
    """Whatever is subscribed to: a payer is charged for no more than it may examine, and neighbours share one limit."""
    live = live_table(ATTACKS, is_compiled=True)
    credit = MessageCredit()
    with pytest.raises(UndecidedError) as caught:
        live.match(LONG, credit)
    assert NEIGHBOURS - ITEMS * COST < NEIGHBOURS - credit.limit(None) <= NEIGHBOURS
    assert len(caught.value.rules) == (FREE + NEIGHBOURS // COST) // (ITEMS + 2)
