"""Draw docs/images/routing-*.svg, the pictures of docs/explanation/routing.md: fixtures of [2006] with deliveries."""

from pathlib import Path

from cbnet.language import Message
from cbnet.routing import Network, deliver, scheme
from cbnet.routing.schemes.drp import Drp
from cbnet.routing.schemes.unicast import ReplacedHops, ShortestPaths
from cbnet.routing.simulate.verdict import spurious_nodes
from cbnet.topology import Graph
from cbnet_lab.report.graph_drawing import draw_graph

TWELVE = "1-5:1 1-6:4 5-9:2 6-9:2 9-10:2 7-10:4 6-7:3 2-6:1 2-3:2 3-4:6 4-7:1 7-8:2 7-11:1 8-12:3 11-12:2"
RING = "1-2:3 2-3:2 3-4:2 4-1:2"


def network(text):
    links = (link.replace("-", ":").split(":") for link in text.split())
    graph = Graph.from_edges(tuple(link) for link in links)
    return Network(graph, {node: f'#"{graph.name(node)}"' for node in range(len(graph))})


def draw(name, built, source, wanted):
    graph, message = built.network.graph, Message(tags=map(str, wanted))
    delivery = deliver(built, graph.id(source), message)
    drawing = draw_graph(
        graph,
        title=f"{built.name}: from {source} to {', '.join(map(str, wanted))}",
        source=graph.id(source),
        interested=built.network.interested(message),
        hops=delivery.edges,
        spurious=spurious_nodes(built.network, delivery),
    )
    (Path(__file__).parent / f"routing-{name}.svg").write_text(drawing)


draw("twelve", scheme("psf")(network(TWELVE)), 1, [2, 3, 4, 8])
draw("ring", scheme("pif")(network(RING)), 1, [2, 4])

tied = network(TWELVE.replace("1-6:4", "1-6:3"))
name = tied.graph.id
by_hand = ReplacedHops(ShortestPaths(tied), {(name(5), name(8)): name(9), (name(5), name(11)): name(1)})
draw("twice", Drp(tied, by_hand), 5, [7, 8, 11])
