"""The tree between domains, by hand on small cases and by its laws on random ones."""

from random import Random

import pytest
from support.seeds import seeds

from cbnet.network.protocol.fields import MAX_GATEWAYS
from cbnet.network.router.gateway import tree_position


def test_a_gateway_alone_is_the_root_and_leads_everywhere():
    assert tree_position("g", [[], []]) == (("g",), {0, 1})


def test_the_smallest_name_is_the_root():
    assert tree_position("a", [[("b",)], [("c",)]]) == (("a",), {0, 1})
    assert tree_position("b", [[("a",)], []]) == (("a", "b"), {0, 1})


def test_of_two_gateways_between_the_same_domains_one_passes_messages_on():
    assert tree_position("a", [[("a", "b")], [("a", "b")]]).active == {0, 1}
    assert tree_position("b", [[("a",)], [("a",)]]) == (("a", "b"), {0})


def test_a_circle_of_three_domains_is_open_at_one_gateway():
    # A ─ a ─ B ─ b ─ C ─ c ─ A, the sides in the order of the domains
    assert tree_position("a", [[("a", "c")], [("a", "b")]]).active == {0, 1}
    assert tree_position("b", [[("a",)], [("a", "c")]]) == (("a", "b"), {0, 1})
    assert tree_position("c", [[("a",)], [("a", "b")]]) == (("a", "c"), {0})  # of both in C b has the smaller name


def test_a_shorter_way_is_better_than_a_smaller_name():
    assert tree_position("z", [[("a", "b", "c")], [("a", "y")]]) == (("a", "y", "z"), {1})
    assert tree_position("z", [[("a", "b", "c", "d")], [("a", "y")]]) == (("a", "y", "z"), {0, 1})


def test_a_way_over_oneself_is_no_way():
    assert tree_position("b", [[("a", "b", "c")], []]) == (
        ("b",),
        {0, 1},
    )  # the root a is gone, c has not heard of it yet


def test_a_way_that_is_too_long_to_tell_is_not_taken():
    way = tuple(f"a{number:02}" for number in range(MAX_GATEWAYS))
    assert tree_position("b", [[way], []]).path == ("b",)


def settled(gateways):
    """Return the places of gateways, by which domains each is in, when nobody changes its place any more."""
    places = {name: tree_position(name, [[] for _ in sides]) for name, sides in gateways.items()}
    for _ in range(4 * len(gateways) + 4):
        heard = {
            name: [[places[other].path for other in gateways if other != name and side in gateways[other]]
                   for side in sides]
            for name, sides in gateways.items()
        }  # fmt: skip
        after = {name: tree_position(name, heard[name]) for name in gateways}
        if after == places:
            return places
        places = after
    raise AssertionError("they do not agree")


@pytest.mark.parametrize("seed", seeds(50))
def test_active_sides_form_a_tree_over_all_domains_that_hang_together(seed):
    random = Random(seed)
    domains = range(random.randint(2, 6))
    gateways = {
        f"g{number}": random.sample(domains, random.randint(2, min(3, len(domains))))
        for number in range(random.randint(1, 9))
    }
    places = settled(gateways)
    everything = [(name, side) for name, sides in gateways.items() for side in sides]
    active = [(name, gateways[name][side]) for name, each in places.items() for side in each.active]
    assert groups(active, gateways, domains) == groups(
        everything, gateways, domains
    )  # whoever could hang together does
    assert len(active) == len(gateways) + len(domains) - len(
        groups(active, gateways, domains)
    )  # and there is no circle


def groups(links, gateways, domains):
    """Return the sets of gateways and domains that hang together."""
    group = {each: {each} for each in [*gateways, *domains]}
    for a, b in links:
        if group[a] is not group[b]:
            joined = group[a] | group[b]
            group.update(dict.fromkeys(joined, joined))
    return {frozenset(each) for each in group.values()}
