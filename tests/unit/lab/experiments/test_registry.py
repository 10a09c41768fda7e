import json
from collections import Counter
from dataclasses import asdict

import pytest

from cbnet.errors import InputError
from cbnet.lab.experiments.claim import claims
from cbnet.lab.experiments.experiment import SCALES
from cbnet.lab.experiments.registry import EXPERIMENTS, chosen


def test_each_claim_belongs_to_exactly_one_experiment():
    counts = Counter(number for experiment in EXPERIMENTS.values() for number in experiment.claims)
    assert counts == dict.fromkeys(claims(), 1)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_is_told_in_full(name):
    experiment = EXPERIMENTS[name]
    assert experiment.name == name
    assert experiment.paper == name[:4]
    assert {claims()[number].paper for number in experiment.claims} <= {experiment.paper}
    assert set(experiment.scales) == set(SCALES)
    for parameters in experiment.scales.values():
        assert isinstance(json.loads(json.dumps(asdict(parameters))), dict)


def test_what_is_not_there_is_refused():
    with pytest.raises(InputError, match="no experiment '2004-figure-1'"):
        chosen(["2004-figure-1"])
    with pytest.raises(KeyError):
        EXPERIMENTS["2004-figure-1"]


def test_no_names_are_all():
    assert [experiment.name for experiment in chosen([])] == list(EXPERIMENTS)
