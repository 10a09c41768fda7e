import numpy as np
import pytest

from cbnet.errors import InputError
from cbnet.pipeline.population.synthetic_sets import synthetic_rows
from cbnet.pipeline.population.synthetic_trace import SHAPES
from cbnet.pipeline.population.trace_models import models_of_traces, models_without_traces
from cbnet.pipeline.schemas import SETS

ROWS = [
    *(("web", "subscription", [0, number % 9 + 1]) for number in range(300)),
    *(("social", "subscription", [number % 3]) for number in range(40)),
    ("web", "subscription", []),
]


def test_model_has_the_sets_of_its_application(frame):
    for partitions in (1, 7):
        models = models_of_traces(frame(ROWS, SETS, partitions), ["web", "social"], 10)
        assert models["web"].sets.to_lists() == sorted(tags for app, _, tags in ROWS if app == "web" and tags)
        assert models["social"].sets.to_lists() == sorted(tags for app, _, tags in ROWS if app == "social")
        assert [(model.first_new, model.stride) for model in models.values()] == [(10, 2), (11, 2)]


def test_large_trace_is_sampled_evenly(frame):
    found = [
        models_of_traces(frame(ROWS, SETS, partitions), ["web"], 10, max_sets=100)["web"].sets.to_lists()
        for partitions in (1, 7)
    ]
    assert found[0] == found[1]
    counts = np.bincount([tags[1] for tags in found[0]])[1:]
    assert set(counts.tolist()) <= {11, 12}  # a third of 33 or 34 each
    assert len(counts) == 9


def test_application_without_sets_is_refused(frame):
    with pytest.raises(InputError, match="application 'blog' has no tag sets"):
        models_of_traces(frame(ROWS, SETS), ["web", "blog"], 10)


def test_synthetic_applications_share_no_tag():
    models = models_without_traces([*SHAPES])
    tags = [{*synthetic_rows(model, 0, np.arange(3000)).tags.tolist()} for model in models.values()]
    for index, own in enumerate(tags):
        for other in tags[:index]:
            assert not own & other
