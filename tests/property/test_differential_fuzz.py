"""Some steps of the differential fuzz; `python -m tests.support.differential_fuzz` runs longer."""

import pytest
from support.differential_fuzz import Fuzz


@pytest.mark.parametrize("number", range(8))
def test_no_path_differs_from_the_reference(number):
    Fuzz("tests").step(number)
