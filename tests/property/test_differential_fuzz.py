"""Some steps of the differential fuzz; `python -m tests.support.differential_fuzz` runs longer."""

import pytest
from support.differential_fuzz import Fuzz
from support.seeds import seeds


@pytest.mark.parametrize("number", seeds(6))
def test_no_path_differs_from_the_reference(number):
    Fuzz("tests").step(number)
