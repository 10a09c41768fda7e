"""What a router sees of a tree: its sides, their keys and their hashes."""

import pytest
from support.networks import graph as graph_of

from cbnet.network.linkstate.tree_view import view_tree
from cbnet.topology import shortest_path_tree

LINE = "a-b:1 b-c:1 c-d:1"


def sessions_of(graph, **changed):
    """Return a session for each link, the same for the same two names in any graph; changed: by both names."""
    names = {tuple(sorted((str(graph.names[u]), str(graph.names[v])))) for u, v, _ in graph.edges()}
    return {(a, b): changed.get(a + b, 1000 * ord(a) + ord(b)) for a, b in names}


def view(links, me, root="a", **changed):
    graph = graph_of(links)
    names = list(map(str, graph.names))
    tree = shortest_path_tree(graph, graph.id(root))
    return view_tree(0, tree, names, names.index(me), sessions_of(graph, **changed))


def views(links, root="a"):
    return {str(name): view(links, str(name), root) for name in graph_of(links).names}


def test_sides_of_a_line():
    middle = view(LINE, "b")
    assert {name: set(link.behind) for name, link in middle.links.items()} == {"a": {"a"}, "c": {"c", "d"}}
    assert (middle.root, middle.links["a"].session, middle.links["c"].session) == ("a", 97_098, 98_099)
    assert {name: set(link.behind) for name, link in view(LINE, "a").links.items()} == {"b": {"b", "c", "d"}}


@pytest.mark.parametrize("links", [LINE, "a-b:1 a-c:1 a-d:1", "a-b:1 b-c:1 b-d:1 d-e:1 e-f:1 e-g:1"])
@pytest.mark.parametrize("root", ["a", "d"])
def test_both_ends_of_a_link_agree_on_both_sides(links, root):
    seen = views(links, root)
    for u, tree in seen.items():
        for v, link in tree.links.items():
            back = seen[v].links[u]
            assert (link.far_key, link.near_key) == (back.near_key, back.far_key)
            assert (link.side, link.near) == (back.near, back.side)
            assert link.session == back.session
            assert link.behind | back.behind == set(seen)
            assert not link.behind & back.behind


@pytest.mark.parametrize("links", [LINE, "a-b:1 b-c:1 b-d:1 d-e:1 e-f:1 e-g:1"])
def test_the_sides_of_a_node_and_itself_are_all_nodes(links):
    for me, tree in views(links).items():
        behind = [link.behind for link in tree.links.values()]
        assert sum(map(len, behind)) + 1 == len({me}.union(*behind)) == len(graph_of(links))


def test_hash_of_nodes_depends_on_nothing_but_the_nodes():
    one, other = view("a-b:1 b-c:1 b-d:1", "a"), view("a-b:1 b-c:1 c-d:1", "a", root="c", bc=7)
    assert one.links["b"].side == other.links["b"].side  # b, c and d
    assert one.links["b"].near == other.links["b"].near == view("a-z:1", "a").links["z"].near  # a
    sides = {link.side for tree in views(LINE).values() for link in tree.links.values()}
    assert len(sides) == 6  # a, d; a b, c d; a b c, b c d


def test_trees_and_versions_with_the_same_side_have_the_same_key():
    one = view("a-b:1 b-c:1 c-d:1 b-x:1", "b")
    other = view("a-b:1 b-c:9 c-d:9 b-y:1 y-z:1", "b", root="d", ab=5)
    assert one.links["c"].far_key == other.links["c"].far_key  # c and d, whatever is on this side, and however long
    assert one.links["c"].near_key != other.links["c"].near_key
    ring = "a-b:1 b-c:1 c-d:1 d-a:1"
    assert view(ring, "a", root="a").links["b"].near_key == view(ring, "a", root="b").links["b"].near_key


@pytest.mark.parametrize(
    ("links", "changed"),
    [
        ("a-b:1 b-c:1 c-e:1", {}),  # another node
        ("a-b:1 b-c:1", {}),  # a node less
        ("a-b:1 b-c:1 b-d:1", {}),  # the same nodes, another link
        (LINE, {"cd": 5}),  # another session behind
    ],
)
def test_side_key_differs_if_a_node_a_link_or_a_session_differs(links, changed):
    assert view(links, "a", **changed).links["b"].far_key != view(LINE, "a").links["b"].far_key


def test_the_session_of_the_link_itself_is_no_part_of_the_key():
    # a stream is identified by its session and the key
    assert view(LINE, "a", ab=5).links["b"].far_key == view(LINE, "a").links["b"].far_key


def test_order_of_siblings_does_not_matter_but_their_places_do():
    one = view("r-a:1 a-b:1 a-c:1 b-x:1 c-y:1", "r", root="r")
    assert one.links["a"].far_key == view("r-a:1 c-y:1 a-c:1 b-x:1 a-b:1", "r", root="r").links["a"].far_key
    swapped = view("r-a:1 a-b:1 a-c:1 b-y:1 c-x:1", "r", root="r")
    assert one.links["a"].far_key != swapped.links["a"].far_key
    assert one.links["a"].side == swapped.links["a"].side


def test_tree_of_one_source_is_heard_from_children_and_told_to_the_parent():
    graph = graph_of(LINE)
    names = list(map(str, graph.names))
    tree = view_tree(0, shortest_path_tree(graph, 0), names, 1, sessions_of(graph), is_shared=False)
    assert {name: (link.receives, link.announces) for name, link in tree.links.items()} == {
        "a": (False, True),
        "c": (True, False),
    }
