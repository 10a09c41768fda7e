import pytest

from cbnet.errors import InputError
from cbnet.network.service.gateway_file import read_gateway

GOOD = """
name = "g"
outside = "names"
scheme = "pif"
heartbeat = 2

[[domain]]
network = "north"
listen = "127.0.0.1:4001"
neighbours = { n1 = "127.0.0.1:4011" }

[[domain]]
network = "south"
name = "gate"
listen = "127.0.0.1:4002"
scheme = "multitree"
"""


def read(tmp_path, text):
    path = tmp_path / "gateway.toml"
    path.write_text(text)
    return read_gateway(path)


def test_each_domain_table_configures_one_router(tmp_path):
    plan = read(tmp_path, GOOD)
    assert (plan.name, plan.outside) == ("g", "names")
    north, south = plan.sides
    assert (north.settings.network, north.settings.name, north.settings.scheme) == ("north", "g", "pif")
    assert (south.settings.network, south.settings.name, south.settings.scheme) == ("south", "gate", "multitree")
    assert [side.settings.heartbeat for side in plan.sides] == [2.0, 2.0]
    assert (str(north.listen), str(south.listen)) == ("127.0.0.1:4001", "127.0.0.1:4002")
    assert list(north.neighbours) == ["n1"]
    assert south.neighbours == {}


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('name = "g"\n', "", "the gateway has no name"),
        ('outside = "names"', 'outside = "some"', "unknown summary 'some'; use one of exact, names, all"),
        ('network = "south"', 'network = "north"', "gateway.toml:13: two domains have network = 'north'"),
        ("127.0.0.1:4002", "127.0.0.1:4001", "gateway.toml:15: two domains have listen = '127.0.0.1:4001'"),
        ("heartbeat", "hartbeat", "gateway.toml:5: unknown key 'hartbeat'; did you mean 'heartbeat'?"),
        ('scheme = "pif"', 'listen = "127.0.0.1:1"', "listen is not allowed before the domains; set it in each [[domain]]"),
        ('name = "gate"', "drain = 1", "drain is not allowed in a domain; set it before the tables"),
        ('scheme = "multitree"', 'scheme = "trees"', "gateway.toml:16: unknown scheme 'trees'"),
        ("[[domain]]\nnetwork = \"south\"", "[south]\nnetwork = \"south\"", "unknown key 'south'"),
        (GOOD[GOOD.index("[[domain]]\nnetwork = \"south\"") :], "", "a gateway needs at least two domains"),
        (GOOD[GOOD.index("[[domain]]") :], "domain = 3", "domain must be a list of tables"),
    ],
)  # fmt: skip
def test_mistake_is_reported_with_the_file(tmp_path, old, new, problem):
    assert old in GOOD
    with pytest.raises(InputError) as error:
        read(tmp_path, GOOD.replace(old, new, 1))
    assert problem in str(error.value)
    assert "gateway.toml" in error.value.summary


def test_port_zero_may_occur_twice(tmp_path):
    text = GOOD.replace(":4001", ":0").replace(":4002", ":0")
    assert [side.listen.port for side in read(tmp_path, text).sides] == [0, 0]
