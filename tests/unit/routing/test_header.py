import pytest

from cbnet.routing.header import header_bytes


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
