import json
import random

import numpy as np
import pyarrow as pa
import pytest
from support.seeds import seeds

from cbnet.matching.files.rule_files import read_columns
from cbnet.pipeline.run.configuration import read_config
from cbnet.pipeline.spark.results import read_result
from cbnet.routing.sizing.descriptor_fibs import DescriptorFibs
from cbnet.routing.sizing.descriptor_sets import DescriptorSets
from cbnet.topology import draw_roots, root_classes, shortest_path_trees, topology

CONFIG = """
seed = 3
[network]
graph = "aslike:40"
trees = 3
[population]
clusters = 100
[applications.web]
descriptors = 5
users = 400
[router_tables]
ranges = 4
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    file = tmp_path_factory.mktemp("tables") / "run.toml"
    file.write_text(CONFIG)
    return file


@pytest.fixture(scope="module")
def fibs(spark, config):
    """The tables that `cbnet lab fib` measures, of the population of the run."""
    graph = topology("aslike:40", 3)
    roots = [*dict.fromkeys(draw_roots(root_classes(graph), 20, seed=3).tolist())][:3]
    trees = [*shortest_path_trees(graph, roots)]
    rows = read_result(spark, f"{read_config(config).out}/population").frame(spark).where("size(tags) > 0").collect()
    owners = np.array([row["node"] for row in rows], dtype=np.int32)
    return DescriptorFibs(trees, DescriptorSets(owners, pa.array([row["tags"] for row in rows], pa.list_(pa.int32()))))


def filters_of(path):
    columns = read_columns(path)[0]
    return sorted(
        (columns.interfaces[target], tuple(sorted(columns.filter(row).tag_names)))
        for row, target in enumerate(columns.targets.tolist())
    )


def expected(fibs, router, tree):
    descriptors = fibs.descriptors
    return sorted(
        (neighbour, tuple(sorted(f"tag {tag.as_py()}" for tag in descriptors.tags[int(descriptors.examples[number])])))
        for neighbour, sets in fibs.kept(router, tree).items()
        for number in sets
    )


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("seed", seeds(1))
def test_extracted_tables_are_those_that_the_laboratory_measures(cbnet, config, request, seed, tmp_path):
    shown = cbnet("pipeline", "run", config)
    assert shown.code == 0
    assert "Tables of every router" in shown.out
    fibs = request.getfixturevalue("fibs")
    one, other = random.Random(seed).sample(range(40), 2)
    file = tmp_path / "table.cbt"
    [told] = map(json.loads, cbnet("pipeline", "table", config, one, "-o", file, "--json").out.splitlines())
    assert told == {"router": str(one), "tree": None, "file": str(file), "bytes": file.stat().st_size}
    assert len(filters_of(file)) == fibs.entries(one).folded
    file.unlink()
    (tmp_path / "copy.toml").write_text(CONFIG)
    command = ["pipeline", "table", tmp_path / "copy.toml", other, "-o", file, "--tree", "2"]
    assert "run the pipeline first" in cbnet(*command).err
    assert cbnet(*command, "--results", read_config(config).out).code == 0
    assert filters_of(file) == expected(fibs, other, 1)


@pytest.mark.usefixtures("spark")
def test_a_table_that_is_not_there_is_an_error_with_a_remedy(cbnet, config, tmp_path):
    file = tmp_path / "table.cbt"
    unknown = cbnet("pipeline", "table", config, "99", "-o", file)
    assert (unknown.code, "99" in unknown.err) == (2, True)
    assert "give a tree from 1 to 3" in cbnet("pipeline", "table", config, "9", "-o", file, "--tree", "4").err
    other = tmp_path / "other.toml"
    other.write_text(CONFIG.replace("clusters = 100", "clusters = 101"))
    missing = cbnet("pipeline", "table", other, "9", "-o", file)
    assert (missing.code, "run the pipeline first" in missing.err) == (2, True)
    other.write_text(CONFIG.replace("[router_tables]\nranges = 4", ""))
    assert "add a line [router_tables]" in cbnet("pipeline", "table", other, "9", "-o", file).err
    assert not file.exists()
