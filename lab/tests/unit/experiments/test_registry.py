import json
from collections import Counter

import pytest

from cbnet.errors import InputError
from cbnet_lab.experiments.claim import claims
from cbnet_lab.experiments.experiment import EXPERIMENTS, SCALES, load_experiment, select_experiments


def test_each_claim_belongs_to_exactly_one_experiment_or_to_tests():
    counts = Counter(number for name in EXPERIMENTS for number in load_experiment(name).claims)
    assert counts == {number: 1 for number, claim in claims().items() if not claim.tests}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_complete(name):
    experiment = load_experiment(name)
    assert experiment.name == name
    assert experiment.paper == name[:4]
    assert {claims()[number].paper for number in experiment.claims} <= {experiment.paper}
    assert set(experiment.scales) == set(SCALES)
    for parameters in experiment.scales.values():
        assert isinstance(json.loads(json.dumps(vars(parameters))), dict)


def test_unknown_names_are_rejected():
    with pytest.raises(InputError, match="no experiment '2004-figure-1'"):
        select_experiments(["2004-figure-1"])


def test_no_names_select_all_experiments():
    assert [experiment.name for experiment in select_experiments([])] == list(EXPERIMENTS)
