"""The papers' fixtures, and random networks small enough for brute force."""

from hypothesis import strategies as st

from cbnet.language import Message
from cbnet.routing import Network
from cbnet.topology import Graph

TWELVE = "1-5:1 1-6:4 5-9:2 6-9:2 9-10:2 7-10:4 6-7:3 2-6:1 2-3:2 3-4:6 4-7:1 7-8:2 7-11:1 8-12:3 11-12:2"
TWELVE_TIED = TWELVE.replace("1-6:4", "1-6:3")
RING = "1-2:3 2-3:2 3-4:2 4-1:2"
TRIANGLE = "1-2:1 2-3:1 1-3:2"
ELEVEN = "b-c:1 c-g:1 c-h:1 b-f:1 f-j:1 f-k:1 b-e:1 e-i:1 e-d:1 d-a:1 i-j:1 j-k:1 f-g:1"  # [2014 Fig. 2]
TIES = "0-1:1 0-2:1 1-3:1 1-4:1 2-3:1 2-4:1"  # 0 is v, 1 is a, 2 is b; 3 and 4 are x and y


def graph(text):
    """Return the graph of a text such as `1-5:1 1-6:4`."""
    ends, weights = zip(*(edge.split(":") for edge in text.split()), strict=True)
    return Graph.from_edges((*pair.split("-"), weight) for pair, weight in zip(ends, weights, strict=True))


class Named:
    """A network in which node i subscribes to the tag i."""

    def __init__(self, text, receivers=None, senders=None):
        self.graph = graph(text)
        self.id = self.graph.id
        interested = self.graph.names if receivers is None else receivers
        predicates = {self.id(name): f'#"{name}"' for name in interested}
        self.network = Network(self.graph, predicates, None if senders is None else map(self.id, senders))

    def names(self, ids):
        return {self.graph.name(int(u)) for u in ids}

    def message(self, *tags):
        return Message(tags=map(str, tags))

    def packets(self, delivery):
        return {(self.graph.name(p.sender), self.graph.name(p.receiver)) for p in delivery.packets}


# --- random networks

PREDICATES = [
    "k = 0",
    "k = 1",
    "k = 2",
    "k < 2",
    "k > 1",
    "k != 1",
    "k = 0 or k = 3",
    "k = 1 or j = 1",
    "true",
    "false",
]
UNIVERSE = [Message({"k": k}) for k in range(4)] + [Message({"k": 2, "j": 1}), Message({"j": 1}), Message()]


@st.composite
def trees(draw, max_nodes=9):
    """Return the edges of a random tree."""
    n = draw(st.integers(2, max_nodes))
    return [(draw(st.integers(0, child - 1)), child) for child in range(1, n)]


@st.composite
def connected(draw, max_nodes=9):
    """Return the edges of a random connected graph."""
    edges = draw(trees(max_nodes))
    n = len(edges) + 1
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n) if (u, v) not in edges]
    return edges + (draw(st.lists(st.sampled_from(pairs), unique=True, max_size=10)) if pairs else [])


def weighted(edges, weights):
    return Graph.from_edges((u, v, weight) for (u, v), weight in zip(edges, weights, strict=True))


@st.composite
def graphs(draw, edges=None, max_nodes=9):
    """Return a graph in which ties are common: all weights are equal, or few and small."""
    chosen = draw(edges if edges is not None else connected(max_nodes))
    largest = draw(st.sampled_from([1, 2, 4]))
    return weighted(chosen, [draw(st.integers(1, largest)) for _ in chosen])


@st.composite
def graphs_without_ties(draw, max_nodes=9):
    """Return a graph with distinct powers of two as weights: no two sets of edges have the same length."""
    edges = draw(connected(max_nodes))
    return weighted(edges, [1 << exponent for exponent in draw(st.permutations(range(len(edges))))])


@st.composite
def networks(draw, of=None):
    """Return a network; often not all nodes send or receive."""
    chosen = draw(of if of is not None else graphs())
    nodes = st.integers(0, len(chosen) - 1)
    receivers = draw(st.dictionaries(nodes, st.sampled_from(PREDICATES), min_size=1))
    senders = draw(st.none() | st.sets(nodes, min_size=1))
    return Network(chosen, receivers, senders)


# --- the definitions, without regard for speed


def below(tree, u):
    """Return T_v/u: u and all nodes whose path from the root passes u, by following parents."""
    nodes = set()
    for x in range(len(tree.parents)):
        node = x
        while node >= 0 and node != u:
            node = int(tree.parents[node])
        if node == u:
            nodes.add(x)
    return nodes


def via(network, v, u, w):
    """Return T_v/(u, w)."""
    tree = network.tree(v)
    return below(tree, w) if tree.parents[w] == u else set()


def indistinguishable(network, v1, v2, u):
    """Return whether u has the same children, each with the same nodes below, in the trees of v1 and v2."""
    neighbours = network.graph.neighbours(u).tolist()
    return all(via(network, v1, u, w) == via(network, v2, u, w) for w in neighbours)
