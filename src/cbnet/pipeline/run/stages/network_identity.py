"""Places: by what is the network of a run told from others?"""

from __future__ import annotations

from typing import Any

from cbnet.pipeline.run.configuration import Config
from cbnet.topology.graph.generators import GENERATORS


def network_parameters(config: Config) -> dict[str, Any]:
    """Return the parameters of a stage that looks at the graph."""
    return {
        "graph": None if network_files(config) else config.network.graph,
        "largest": config.network.largest,
        "seed": config.seed,
    }


def network_files(config: Config) -> tuple[str, ...]:
    """Return the file of the graph, if it is not made up."""
    graph = config.network.graph
    return () if graph.partition(":")[0] in GENERATORS else (graph,)
