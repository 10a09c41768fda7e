import pytest
from support.networks import RING, Named

from cbnet.errors import InputError
from cbnet.routing import SCHEMES, scheme
from cbnet.routing.scheme import SIMULATED, header_bytes


def test_the_schemes_of_the_papers_are_known_by_name():
    assert SCHEMES == ("psf", "ips", "pif", "drp", "multitree")
    network = Named(RING).network
    assert [scheme(name)(network).name for name in SCHEMES] == list(SCHEMES)


def test_some_schemes_are_for_simulation_only():
    assert (*SCHEMES, "domains", "treeheader") == SIMULATED
    network = Named(RING).network
    assert [scheme(name)(network).name for name in SIMULATED] == list(SIMULATED)


def test_an_unknown_scheme_is_refused():
    with pytest.raises(InputError, match="unknown scheme 'ospf'; use one of psf, ips, pif, drp, multitree"):
        scheme("ospf")


def test_router_is_created_on_first_use_and_cached():
    built = scheme("psf")(Named(RING).network)
    assert built.router(2) is built.router(2)
    assert built.router(2).u == 2


@pytest.mark.parametrize(
    ("header", "size"),
    [
        (5, 1),
        (127, 1),
        (128, 2),
        (255, 2),
        (256, 3),
        (65_535, 3),
        (65_536, 5),
        ((), 1),
        ((2, 3), 3),
        (tuple(range(15)), 16),
        (tuple(range(16)), 19),
        (((2, (2, 3)), (7, (4, 8))), 11),
    ],
)
def test_headers_have_the_sizes_of_message_pack(header, size):
    assert header_bytes(header) == size
