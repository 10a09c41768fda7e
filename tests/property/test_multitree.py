"""Laws of routing along several trees: deliveries, requests and replies, folding, and sizes, over random networks."""

from itertools import combinations, pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from support.networks import PREDICATES, UNIVERSE, graphs, networks
from support.strategies import messages_near, predicates

from cbnet.language import Descriptor, Message, Predicate, reduce
from cbnet.language.roles import MessageKind
from cbnet.matching import reference
from cbnet.routing import Network, deliver, judge
from cbnet.routing.multitree.folding import fold
from cbnet.routing.multitree.grouping import TreeClasses
from cbnet.routing.multitree.multitree import MultiTree
from cbnet.routing.multitree.policies import COMMIT_POLICIES, HOLDER_CHOICES
from cbnet.routing.multitree.tree_sides import TreeSides, lengths_on_tree
from cbnet.routing.simulate.pull import pull
from cbnet.routing.sizing.descriptor_fibs import DescriptorFibs
from cbnet.routing.sizing.descriptor_sets import DescriptorSets
from cbnet.routing.sizing.edge_counts import EdgeCounts
from cbnet.routing.sizing.predicate_fibs import PredicateFibs
from cbnet.topology import shortest_path_tree, shortest_path_trees
from cbnet.topology.common_ancestors import CommonAncestors


@st.composite
def multi_trees(draw, max_trees=4):
    """Return a scheme of one to four trees, often with offers."""
    network = draw(networks())
    nodes = st.integers(0, len(network) - 1)
    return MultiTree(
        network,
        draw(st.lists(nodes, min_size=1, max_size=max_trees)),
        offers=draw(st.dictionaries(nodes, st.sampled_from(PREDICATES), max_size=5)),
        commit=draw(st.sampled_from(COMMIT_POLICIES)),
        choice=draw(st.sampled_from(HOLDER_CHOICES)),
        seed=draw(st.integers(0, 3)),
    )


# --- the definitions, without regard for speed


def links(tree):
    return {frozenset((v, parent)) for v, parent in enumerate(tree.parents.tolist()) if parent >= 0}


def beyond(tree, u, w):
    """Return the nodes on the side of w when the link between u and w is cut out of a tree."""
    reached, queue = {w}, [w]
    for x in queue:  # grows during the loop
        for link in links(tree):
            if x in link and link != {u, w}:
                (y,) = link - {x}
                if y not in reached:
                    reached.add(y)
                    queue.append(y)
    return reached


def path_between(tree, u, x):
    """Return the nodes from u to x on a tree."""
    up, down = tree.path(u)[::-1], tree.path(x)[::-1]
    ancestor = next(node for node in up if node in down)
    return [*up[: up.index(ancestor)], ancestor, *down[: down.index(ancestor)][::-1]]


def around(tree, u):
    return sorted(w for link in links(tree) if u in link for w in link - {u})


# --- deliveries


@settings(max_examples=40)
@given(multi_trees())
def test_every_interested_node_is_reached_once_and_nothing_else_is_sent(built):
    network = built.network
    for source in network.senders:
        for message in UNIVERSE:
            delivery = deliver(built, source, message)
            wanting = set(reference.match(network.predicates, message)) - {source}
            verdict = judge(network, delivery)
            assert (verdict.delivered, verdict.missed) == (len(wanting), 0)
            assert (verdict.duplicates, verdict.spurious, verdict.is_cut) == (0, 0, False)
            receivers = [packet.receiver for packet in delivery.packets]
            assert len(set(receivers) | {source}) == len(receivers) + 1


@settings(max_examples=40)
@given(multi_trees())
def test_message_follows_the_only_path_on_its_tree(built):
    for source in built.network.senders:
        for message in UNIVERSE:
            delivery = deliver(built, source, message)
            assert len({packet.header.tree for packet in delivery.packets}) <= 1
            for packet in delivery.packets:
                tree = built.trees[packet.header.tree]
                assert path_between(tree, source, packet.receiver)[-2:] == [packet.sender, packet.receiver]
                assert packet.header.last_hop == packet.sender


@settings(max_examples=30)
@given(multi_trees())
def test_fib_is_the_union_of_the_registrations_behind_each_neighbour(built):
    for u in range(len(built.network)):
        for number, tree in enumerate(built.trees):
            fib = built.router(u).fib(number)
            for w in around(tree, u):
                side = beyond(tree, u, w)
                for own, kind in (
                    (built.network.predicates, MessageKind.NOTIFICATION),
                    (built.offers.predicates, MessageKind.REQUEST),
                ):
                    union = Predicate(each for x in sorted(side & own.keys()) for each in own[x].filters)
                    kept = fib[w].predicate_for(kind) if w in fib else Predicate()
                    assert len(kept) == len(reduce(union))
                    assert all(kept.matches(message) == union.matches(message) for message in UNIVERSE)


@settings(max_examples=30)
@given(multi_trees())
def test_a_sample_of_all_routers_estimates_the_state_exactly(built):
    assert built.state(range(len(built.network))) == built.state()
    assert built.state().words <= built.state().unreduced_words


# --- requests and replies


@settings(max_examples=40)
@given(multi_trees())
def test_a_request_reaches_one_holder_and_its_reply_returns(built):
    offered = built.offers.predicates
    for requester in range(len(built.network)):
        for request in UNIVERSE:
            holders = reference.match(offered, request)
            outcome = pull(built, requester, request)
            if not holders:
                assert (outcome.holder, outcome.packets, outcome.reply_packets) == (None, [], [])
                continue
            assert outcome.holder in holders
            assert outcome.is_answered
            tree = built.trees[outcome.packets[0].header.tree] if outcome.packets else built.trees[0]
            there = [requester, *(packet.receiver for packet in outcome.packets)]
            back = [outcome.holder, *(packet.receiver for packet in outcome.reply_packets)]
            assert there == path_between(tree, requester, outcome.holder) == back[::-1]
            assert not set(there[:-1]) & set(holders)  # it stops at the first that has it


@settings(max_examples=30)
@given(multi_trees())
def test_the_nearest_holder_is_the_nearest_on_the_tree(built):
    near = MultiTree(built.network, built.roots, offers=built.offers.predicates, choice="nearest")
    for requester in range(len(near.network)):
        for request in UNIVERSE:
            outcome = pull(near, requester, request)
            holders = reference.match(near.offers.predicates, request)
            if outcome.packets:
                tree = near.trees[outcome.packets[0].header.tree]
                lengths = lengths_on_tree(tree, requester, np.array(holders, dtype=np.int32))
                assert outcome.packets[-1].latency == lengths.min()


# --- trees


@settings(max_examples=75)
@given(graphs(), st.data())
def test_sides_are_the_components_without_a_link(graph, data):
    nodes = st.integers(0, len(graph) - 1)
    tree = shortest_path_tree(graph, data.draw(nodes))
    at = data.draw(st.lists(nodes, max_size=6))
    sides = TreeSides(tree, np.array(at, dtype=np.int32))
    for u in range(len(graph)):
        cut = {w: beyond(tree, u, w) for w in around(tree, u)}
        expected = {w: {row for row, x in enumerate(at) if x in side} for w, side in cut.items()}
        behind = sides.behind(u)
        assert list(behind) == sorted(behind)
        assert {w: set(rows.tolist()) for w, rows in behind.items()} == {w: s for w, s in expected.items() if s}
        assert all(set(sides.side(u, w).tolist()) == expected[w] for w in cut)


@settings(max_examples=75)
@given(graphs(), st.data())
def test_lengths_and_common_ancestors_follow_from_the_paths(graph, data):
    tree = shortest_path_tree(graph, data.draw(st.integers(0, len(graph) - 1)))
    everybody = np.arange(len(graph), dtype=np.int32)
    ancestors = CommonAncestors.of(tree)
    for u in range(len(graph)):
        paths = [path_between(tree, u, x) for x in range(len(graph))]
        expected = [sum(graph.weight(*pair) for pair in pairwise(each)) for each in paths]
        assert lengths_on_tree(tree, u, everybody).tolist() == expected
        for x, each in enumerate(paths):
            first, second = sorted((int(tree.positions[u]), int(tree.positions[x])))
            (position,) = ancestors.of_pairs(np.array([first]), np.array([second]))
            assert tree.preorder[position] == min(each, key=lambda node: tree.hops[node])


@settings(max_examples=75)
@given(graphs(), st.data())
def test_trees_are_grouped_where_they_map_every_destination_to_the_same_interface(graph, data):
    nodes = st.integers(0, len(graph) - 1)
    trees = [*shortest_path_trees(graph, data.draw(st.lists(nodes, min_size=1, max_size=4)))]
    destinations = data.draw(st.sets(nodes))
    classes = TreeClasses(trees, np.array(sorted(destinations), dtype=np.int32))
    for u in range(len(graph)):
        maps = [{x: path_between(tree, u, x)[1] for x in destinations - {u}} for tree in trees]
        assert classes.of(u) == [maps.index(own) for own in maps]
        for w in set.intersection(*(set(around(tree, u)) for tree in trees)):
            keys = [int(classes.behind(t, np.array([u]), np.array([w]))[0]) for t in range(len(trees))]
            sets = [beyond(tree, u, w) & destinations for tree in trees]
            assert all((keys[a] == keys[b]) == (sets[a] == sets[b]) for a, b in combinations(range(len(trees)), 2))


# --- folding


@st.composite
def tables(draw):
    """Return tables of some trees by tag, and messages near their constants."""
    interfaces = st.sampled_from("vw")
    chosen = draw(st.lists(st.dictionaries(interfaces, predicates()), min_size=1, max_size=4))
    filters = [filter for table in chosen for predicate in table.values() for filter in predicate.filters]
    by_tag = {f"T{number}": table for number, table in enumerate(chosen)}
    return by_tag, draw(st.lists(messages_near(*filters), max_size=5))


@settings(max_examples=60)
@given(tables())
def test_folding_changes_no_answer_on_any_tree(case):
    by_tag, messages = case
    folded = fold(by_tag)
    for message in messages:
        for tag, table in by_tag.items():
            marked = Message(message.attributes, message.tags | {tag})
            assert set(reference.match(folded, marked)) == set(reference.match(table, message))


@settings(max_examples=40)
@given(tables())
def test_folding_never_adds_entries_and_folds_equal_tables_to_one(case):
    by_tag, _ = case
    reduced = [{key: reduce(predicate) for key, predicate in table.items()} for table in by_tag.values()]
    assert sum(map(len, fold(by_tag).values())) <= sum(len(each) for table in reduced for each in table.values())
    first = reduced[0]
    assert {key: len(each) for key, each in fold(dict.fromkeys(by_tag, first)).items()} == {
        key: len(each) for key, each in first.items()
    }


@settings(max_examples=30)
@given(multi_trees())
def test_one_folded_table_forwards_as_the_tables_of_all_trees(built):
    for u in range(len(built.network)):
        router = built.router(u)
        folded = router.folded()
        for tree in range(len(built.trees)):
            fib = router.fib(tree)
            for kind in MessageKind:
                predicates = {w: registered.predicate_for(kind) for w, registered in fib.items()}
                for message in UNIVERSE:
                    assert sorted(folded.match(tree, message, kind)) == reference.match(predicates, message)


@settings(max_examples=30)
@given(multi_trees())
def test_grouping_and_folding_save_entries_and_together_most(built):
    for u in range(len(built.network)):
        entries = PredicateFibs(built).entries(u)
        assert entries.per_tree >= entries.grouped >= entries.grouped_and_folded
        assert entries.per_tree >= entries.folded >= entries.grouped_and_folded


# --- descriptors at scale, against the language


@st.composite
def registered(draw):
    """Return a graph, roots, and descriptors at nodes, from few tags so that many contain others."""
    graph = draw(graphs())
    nodes = st.integers(0, len(graph) - 1)
    roots = draw(st.lists(nodes, min_size=1, max_size=3))
    tags = st.lists(st.sampled_from("abcd"), min_size=1, max_size=5)  # a tag may repeat
    return graph, roots, draw(st.lists(st.tuples(nodes, tags), min_size=1, max_size=12))


def both_fibs(case):
    graph, roots, owned = case
    descriptors = DescriptorSets(np.array([x for x, _ in owned], dtype=np.int32), pa.array([tags for _, tags in owned]))
    predicates = {}
    for x, tags in owned:
        predicates.setdefault(x, []).append(Descriptor(tags))
    network = Network(graph, {x: Predicate(own) for x, own in predicates.items()})
    return DescriptorFibs([*shortest_path_trees(graph, roots)], descriptors), PredicateFibs(MultiTree(network, roots))


@given(registered())
def test_descriptor_fibs_have_the_sizes_of_predicate_fibs(case):
    fast, plain = both_fibs(case)
    for u in range(len(case[0])):
        assert fast.entries(u) == plain.entries(u)
        for tree in range(len(case[1])):
            sizes, expected = fast.sizes(u, tree), plain.sizes(u, tree)
            assert list(sizes) == list(expected)
            for w, size in sizes.items():
                assert (size.interfaces, size.destinations, size.kept) == (
                    expected[w].interfaces, expected[w].destinations, expected[w].kept,
                )  # fmt: skip
    assert fast.total() == plain.total()


def as_filters(folded, tags, tree_tags):
    """Return the entries of a folded interface as filters."""
    entries = set()
    for row, own_tags in enumerate(tags):
        trees = (
            [[]]
            if folded.everywhere[row]
            else [[tag] for tag, own in zip(tree_tags, folded.has, strict=True) if own[row]]
        )
        entries |= {Descriptor([*own_tags, *tree]) for tree in trees}
    return entries


@settings(max_examples=30)
@given(registered())
def test_descriptor_fibs_fold_like_predicate_fibs(case):
    fast, plain = both_fibs(case)
    trees = range(len(case[1]))
    for u in range(len(case[0])):
        expected = plain.scheme.router(u).folded()
        folded = fast.folded(u, trees)
        rows = {w: fast.descriptors.examples[each.sets] for w, each in folded.items()}
        tags = {w: fast.descriptors.tags.take(pa.array(own)).to_pylist() for w, own in rows.items()}
        assert {w: as_filters(each, tags[w], expected.tree_tags) for w, each in folded.items()} == {
            w: set(predicate.filters) for w, predicate in expected.entries.items()
        }


@given(registered())
def test_the_entries_of_all_edges_are_those_of_the_tables(case):
    fast, _ = both_fibs(case)
    for number, tree in enumerate(fast.trees):
        counted = EdgeCounts.of_minimal(tree, fast.descriptors)
        kept = [fast.kept(u, number) for u in range(len(case[0]))]
        assert counted.at_routers().tolist() == [sum(map(len, each.values())) for each in kept]
        for u, own in enumerate(kept):
            for w in around(tree, u):
                assert counted.behind(np.array([u]), np.array([w])) == len(own.get(w, ()))


@settings(max_examples=30)
@given(registered())
def test_the_compiled_table_of_descriptors_matches_as_the_predicates_do(case):
    fast, plain = both_fibs(case)
    messages = [Message(tags=tags) for size in range(5) for tags in combinations("abcd", size)]
    for u in range(len(case[0])):
        for tree in range(len(case[1])):
            neighbours = fast.sizes(u, tree).keys()
            if neighbours:
                one, other = (each.table(u, tree, neighbours) for each in (fast, plain))
                assert one.match_many(messages) == other.match_many(messages)
