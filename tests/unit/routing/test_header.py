import pytest

from cbnet.routing.header import header_bits, header_bytes, identifiers


@pytest.mark.parametrize(
    ("header", "count", "size"),
    [
        (5, 1, 1),
        (127, 1, 1),
        (128, 1, 2),
        (255, 1, 2),
        (256, 1, 3),
        (65_535, 1, 3),
        (65_536, 1, 5),
        ((), 0, 1),
        ((2, 3), 2, 3),
        (tuple(range(15)), 15, 16),
        (tuple(range(16)), 16, 19),
        (((2, (2, 3)), (7, (4, 8))), 6, 11),
    ],
)
def test_headers_have_the_sizes_of_message_pack(header, count, size):
    assert (identifiers(header), header_bytes(header)) == (count, size)


def test_as_in_the_paper_an_identifier_takes_the_logarithm_of_the_nodes():
    assert header_bits((2, 3), nodes=12) == 8
