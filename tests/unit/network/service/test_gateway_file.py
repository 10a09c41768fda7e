import pytest

from cbnet.errors import InputError
from cbnet.network.service.gateway_file import read_gateway

GOOD = """
name = "g"
outside = "names"
scheme = "drp"
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


def test_a_table_for_each_domain_says_how_its_router_is(tmp_path):
    plan = read(tmp_path, GOOD)
    assert (plan.name, plan.outside) == ("g", "names")
    north, south = plan.sides
    assert (north.settings.network, north.settings.name, north.settings.scheme) == ("north", "g", "drp")
    assert (south.settings.network, south.settings.name, south.settings.scheme) == ("south", "gate", "multitree")
    assert [side.settings.heartbeat for side in plan.sides] == [2.0, 2.0]
    assert (str(north.listen), str(south.listen)) == ("127.0.0.1:4001", "127.0.0.1:4002")
    assert list(north.neighbours) == ["n1"]
    assert south.neighbours == {}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "g"\n', "", "the gateway has no name"),
        ('outside = "names"', 'outside = "some"', "unknown summary 'some'; use one of exact, names, all"),
        ('network = "south"', 'network = "north"', "two domains say network = 'north'"),
        ("127.0.0.1:4002", "127.0.0.1:4001", "two domains say listen = '127.0.0.1:4001'"),
        ("heartbeat", "hartbeat", "unknown key 'hartbeat' before the domains; write heartbeat"),
        ('scheme = "drp"', 'listen = "127.0.0.1:1"', "listen is said before the domains; say it in the table of each"),
        ('name = "gate"', "drain = 1", "drain is said of one domain; say it before the tables, for all"),
        ('scheme = "multitree"', 'scheme = "trees"', "unknown scheme 'trees'"),
        ("[[domain]]\nnetwork = \"south\"", "[south]\nnetwork = \"south\"", "unknown key 'south' before the domains"),
        (GOOD[GOOD.index("[[domain]]\nnetwork = \"south\"") :], "", "a gateway is in two domains or more"),
        (GOOD[GOOD.index("[[domain]]") :], "domain = 3", "domain is no list of tables"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_the_file(tmp_path, old, new, said):
    assert old in GOOD
    with pytest.raises(InputError) as error:
        read(tmp_path, GOOD.replace(old, new, 1))
    assert said in error.value.summary
    assert "gateway.toml" in error.value.summary


def test_a_port_that_is_chosen_later_may_be_said_twice(tmp_path):
    text = GOOD.replace(":4001", ":0").replace(":4002", ":0")
    assert [side.listen.port for side in read(tmp_path, text).sides] == [0, 0]
