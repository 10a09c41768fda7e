import numpy as np

from cbnet.pipeline.population.default_models import default_models
from cbnet.pipeline.population.law_fit import fit_models
from cbnet.pipeline.population.model_fit import compare
from cbnet.pipeline.population.user_sets import user_sets
from cbnet.pipeline.population.user_trace import UserTrace


def test_fitted_users_are_like_those_of_the_trace():
    counts, sets = user_sets(default_models(["web"])["web"], 9, 0, np.arange(600), 40.0)
    trace = UserTrace(np.repeat(np.arange(600), counts), sets)
    [model] = fit_models([trace])
    compared = compare(model, trace)
    assert (compared["users"], compared["sets"]) == (600, len(sets))
    for row in compared["measures"]:
        assert abs(row["difference"]) < 0.15, row
    assert compared["vocabulary"][-1] == {
        "users": 600,
        "trace": trace.vocabulary,
        "synthetic": compared["measures"][2]["synthetic"],
    }
    assert sum(row["trace"] for row in compared["sizes"]) == len(sets)
    assert [row["assigned"] for row in compared["user_tags"]][:3] == [1, 2, 4]
