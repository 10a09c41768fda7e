"""Tables that the pipeline compiled, as routers start with them."""

import pytest

from cbnet import InputError, Table, parse
from cbnet.language.syntax.byte_form import filter_to_bytes
from cbnet.network.service.computed_table import read_computed_table

NODES = ["north", "here", "south"]


def encoded(text):
    return {filter_to_bytes(filter) for filter in parse(text).filters}


@pytest.mark.parametrize("engine", ["tags", "pivot"])
def test_filters_are_read_by_the_name_of_the_neighbour(tmp_path, engine):
    wants = {0: "#jazz and #vinyl or #news", 2: "#news"}
    Table.build(wants, engine=engine).save(tmp_path / "1.cbt")
    found = read_computed_table(tmp_path / "1.cbt", NODES)
    assert {name: set(filters) for name, filters in found.items()} == {
        "north": encoded(wants[0]),
        "south": encoded(wants[2]),
    }


def test_filters_with_constraints_are_read(tmp_path):
    Table.build({0: "x > 5 and #a or exists y"}).save(tmp_path / "1.cbt")
    assert set(read_computed_table(tmp_path / "1.cbt", NODES)["north"]) == encoded("x > 5 and #a or exists y")


@pytest.mark.parametrize("interface", [3, -1, "north"])
def test_an_interface_that_is_no_node_is_an_error(tmp_path, interface):
    Table.build({interface: "#jazz"}).save(tmp_path / "1.cbt")
    with pytest.raises(InputError, match=f"the table has an interface {interface!r}, which is no node") as raised:
        read_computed_table(tmp_path / "1.cbt", NODES)
    assert "1.cbt" in str(raised.value)
