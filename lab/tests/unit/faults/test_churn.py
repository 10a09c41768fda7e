"""The plan of a churn trial."""

import pytest

from cbnet.errors import InputError
from cbnet_lab.faults.churn import run
from cbnet_lab.faults.plans import ChurnPlan


def test_clients_cannot_vanish_with_more_filters_than_are_held():
    with pytest.raises(InputError, match="34,000 filters, and those that stay need 1,000 more; use --filters 35000"):
        next(run(ChurnPlan(33_000, (10_000,), 0), lambda _: None))
