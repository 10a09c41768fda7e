"""The public names of `cbnet.network`."""

import pytest

import cbnet.network


@pytest.mark.parametrize("name", cbnet.network.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert hasattr(cbnet.network, name)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'cbnet.network' has no attribute 'nothing'"):
        _ = cbnet.network.nothing


def test_dir_lists_the_public_names() -> None:
    assert dir(cbnet.network) == sorted(cbnet.network.__all__)
