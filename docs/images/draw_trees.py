"""Draw docs/images/trees-*.svg, the pictures of docs/explanation/trees.md: the two trees of [2014 Fig. 2]."""

from pathlib import Path

from cbnet.topology import Graph, shortest_path_tree
from cbnet_lab.report.graph_drawing import draw_graph, layout

LINKS = "bc cg ch bf fj fk be ei ed da ij jk fg"

graph = Graph.from_edges(tuple(link) for link in LINKS.split())
positions = layout(graph)
for root in "bi":
    tree = shortest_path_tree(graph, graph.id(root))
    drawing = draw_graph(
        graph,
        title=f"the tree from {root}",
        source=tree.root,
        hops=[(int(tree.parents[x]), x) for x in tree.preorder[1:].tolist()],
        positions=positions,
    )
    (Path(__file__).parent / f"trees-{root}.svg").write_text(drawing)
