"""Tables of several trees, folded into one [2014 §3.2.3]."""

from support.networks import ELEVEN, Named

from cbnet.language import Message, Predicate, parse
from cbnet.language.roles import MessageKind, Registration
from cbnet.routing.multitree.folding import FoldedFib, fold, unused_tags
from cbnet.routing.multitree.multitree import MultiTree

FIGURE_2 = Named(ELEVEN)
SCHEME = MultiTree(FIGURE_2.network, [FIGURE_2.id("b"), FIGURE_2.id("i")])


def parses(table):
    return {key: parse(text) for key, text in table.items()}


def predicate_of(*terms):
    """Return a disjunction of terms such as f, or f1: f with the tag of tree 1."""
    pairs = ((term[0], [f"tree {term[1]}"] if len(term) > 1 else []) for term in terms)
    return Predicate(
        parse(" and ".join([f"#{name}", *(f'#"{tag}"' for tag in tags)])).filters[0] for name, tags in pairs
    )


def test_the_two_tables_of_router_b_are_those_of_figure_3_corrected():
    router = SCHEME.router(FIGURE_2.id("b"))
    name = FIGURE_2.graph.name
    tables = [{name(w): entry.subscriptions for w, entry in router.fib(tree).items()} for tree in (0, 1)]
    assert tables[0] == {"c": predicate_of(*"cgh"), "f": predicate_of(*"fjk"), "e": predicate_of(*"adei")}
    assert tables[1] == {"c": predicate_of(*"ch"), "e": predicate_of(*"adefgijk")}  # the print ends with b, not j and k
    assert sum(map(len, [*tables[0].values(), *tables[1].values()])) == 20


def test_the_twenty_terms_of_router_b_fold_to_fourteen():
    folded = SCHEME.router(FIGURE_2.id("b")).folded()
    actual = {FIGURE_2.graph.name(w): predicate for w, predicate in folded.entries.items()}
    assert actual == {
        "c": predicate_of("c", "h", "g1"),
        "f": predicate_of("f1", "j1", "k1"),
        "e": predicate_of("a", "d", "e", "i", "f2", "g2", "j2", "k2"),
    }
    assert len(folded) == 14


def test_filters_with_constraints_fold_as_descriptors_do():
    tables = {"T1": parses({"w": 'price < 5 or dest = "MXP"'}), "T2": parses({"w": "price < 5", "v": 'dest = "MXP"'})}
    assert fold(tables) == {"w": parse('price < 5 or dest = "MXP" and #T1'), "v": parse('dest = "MXP" and #T2')}


def test_a_filter_needs_no_tag_where_all_other_trees_have_a_wider_one():
    tables = {"T1": parses({"w": "x = 1"}), "T2": parses({"w": "x = 1"}), "T3": parses({"w": "x > 0"})}
    assert fold(tables) == {"w": parse("x = 1 or x > 0 and #T3")}  # and not x = 1 twice, with T1 and with T2


def test_one_tree_needs_no_tags():
    table = parses({"w": "#a or x = 1"})
    assert fold({"T1": table}) == table


def test_user_tag_never_acts_as_a_tree_tag():
    tables = [{1: Registration(parse('#"tree 2"'))}, {2: Registration(parse("#a"))}]
    folded = FoldedFib(tables)
    assert folded.tree_tags == ["_tree 1", "_tree 2"]
    cheat = Message(tags=["tree 2", "_tree 2", "a"])
    assert (folded.match(0, cheat), folded.match(1, cheat)) == ([1], [2])


def test_unused_tags_occur_in_no_filter():
    assert unused_tags("tree ", 2, [parse("#a")]) == ["tree 1", "tree 2"]
    assert unused_tags("tree ", 1, [parse('#"tree 7" or #"_tree 1"')]) == ["__tree 1"]
    assert unused_tags("tree ", 1, [parse('not #"tree 7"')]) == ["_tree 1"]


def test_subscriptions_and_offers_share_one_table():
    fib = [{1: Registration(parse("#a or #b"), parse("#a")), 2: Registration(offers=parse("#b"))}] * 2
    folded = FoldedFib(fib)
    assert len(folded) == 3  # #a for both kinds, #b for notifications to 1, #b for requests to 2; and no tree tag
    for tree in (0, 1):
        assert folded.match(tree, Message(tags=["b"])) == [1]
        assert folded.match(tree, Message(tags=["b"]), MessageKind.REQUEST) == [2]
        assert folded.match(tree, Message(tags=["a"]), MessageKind.REQUEST) == [1]
        assert folded.match(tree, Message(tags=["a", "b"]), MessageKind.REPLY) == []


def test_an_empty_table_folds_to_an_empty_one():
    folded = FoldedFib([{}, {}])
    assert (len(folded), folded.match(0, Message())) == (0, [])
