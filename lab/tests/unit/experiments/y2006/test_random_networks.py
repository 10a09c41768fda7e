import numpy as np

from cbnet.language import Message, parse
from cbnet_lab.experiments.y2006.laws import (
    MESSAGES,
    PREDICATES,
    named_network,
    random_graph,
    random_network,
)


def path_lengths(graph, u, v, seen=()):
    """Yield the lengths of all methods from u to v that visit no node twice."""
    if u == v:
        yield 0
    for w in graph.neighbours(u).tolist():
        if w not in (*seen, u):
            yield from (graph.weight(u, w) + rest for rest in path_lengths(graph, w, v, (*seen, u)))


def test_edge_lengths_of_powers_of_two_leave_no_ties():
    graph = random_graph(np.random.default_rng(1), 6, 4, unique=True)
    assert (len(graph), graph.edge_count) == (6, 9)
    for u in range(6):
        for v in range(6):
            if u != v:
                lengths = [length for length in path_lengths(graph, u, v) if length]
                assert len(set(lengths)) == len(lengths)


def test_graph_text_lists_edges_and_lengths():
    graph = named_network("a-b:2 b-c:3").graph
    assert sorted((graph.name(u), graph.name(v), weight) for u, v, weight in graph.edges()) == [
        ("a", "b", 2),
        ("b", "c", 3),
    ]
    network = named_network("1-10:1 10-2:1")
    assert network.interested(Message(tags=["10"])) == [network.graph.id("10")]


def test_messages_distinguish_all_predicates():
    answers = {want: tuple(parse(want).matches(message) for message in MESSAGES) for want in PREDICATES}
    assert len(set(answers.values())) == len(PREDICATES)
    network = random_network(np.random.default_rng(0), named_network("0-1:1 1-2:1 2-3:1").graph)
    assert len(network.senders) == 4
