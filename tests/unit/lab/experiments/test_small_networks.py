import numpy as np

from cbnet.lab.experiments.small_networks import MESSAGES, WANTS, Named, graph_of, random_graph, random_network
from cbnet.language import parse


def simple_ways(graph, u, v, seen=()):
    """Yield the lengths of all ways from u to v that visit no node twice."""
    if u == v:
        yield 0
    for w in graph.neighbours(u).tolist():
        if w not in (*seen, u):
            yield from (graph.weight(u, w) + rest for rest in simple_ways(graph, w, v, (*seen, u)))


def test_powers_of_two_leave_no_ties():
    graph = random_graph(np.random.default_rng(1), 6, 4, unique=True)
    assert (len(graph), graph.edge_count) == (6, 9)
    for u in range(6):
        for v in range(6):
            if u != v:
                ways = [length for length in simple_ways(graph, u, v) if length]
                assert len(set(ways)) == len(ways)


def test_a_text_says_edges_and_their_lengths():
    graph = graph_of("a-b:2 b-c:3")
    assert sorted((graph.name(u), graph.name(v), weight) for u, v, weight in graph.edges()) == [
        ("a", "b", 2),
        ("b", "c", 3),
    ]
    drawn = Named("1-10:1 10-2:1")
    assert drawn.names(range(3)) == "1, 2, 10"
    assert drawn.network.interested(drawn.message(10)) == [drawn.id(10)]


def test_the_messages_tell_all_wants_apart():
    answers = {want: tuple(parse(want).matches(message) for message in MESSAGES) for want in WANTS}
    assert len(set(answers.values())) == len(WANTS)
    network = random_network(np.random.default_rng(0), graph_of("0-1:1 1-2:1 2-3:1"))
    assert len(network.senders) == 4
